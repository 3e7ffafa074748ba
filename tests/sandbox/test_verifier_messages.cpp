// Between protocol messages and plain structs: what a client may ask, and that an answer always arrives.
#include "sandbox/service/verifier_messages.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "proto/verifier.pb.h"

namespace bicrl {
namespace {

namespace wire = verifier::v1;

TEST_CASE("a verdict arrives whatever bytes the candidate printed") {
  Verdict verdict;
  verdict.outcome = Outcome::kCandidateFault;
  verdict.fault_class = "record";
  for (const std::string& printed :
       {std::string("\xff\xfe"), std::string("cut \xe2\x82"), std::string("\0x", 2), std::string("fine ü")}) {
    verdict.diagnostics = printed;
    wire::Verdict sent, arrived;
    fill_message(verdict, &sent);
    // Parsing refuses text that is no UTF-8; the client would see a failed call instead of the fault.
    REQUIRE(arrived.ParseFromString(sent.SerializeAsString()));
    CHECK(arrived.fault_class() == "record");
    CHECK(arrived.diagnostics().empty() == false);
  }
}

TEST_CASE("a request with impossible numbers is refused by field") {
  wire::VerifyRequest request;
  CHECK(request_problem(request).find("pytorch_code") != std::string::npos);
  request.mutable_task()->set_pytorch_code("class Model");
  CHECK(request_problem(request).empty());
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, kNan, HUGE_VAL, -HUGE_VAL}) {
    wire::VerifyRequest broken = request;
    broken.mutable_protocol()->set_atol(bad);
    CHECK(request_problem(broken).find("atol") != std::string::npos);
    broken = request;
    broken.mutable_protocol()->set_rtol(bad);
    CHECK(request_problem(broken).find("rtol") != std::string::npos);
  }
  for (const int bad : {-1, 33, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    wire::VerifyRequest broken = request;
    broken.mutable_protocol()->set_trials(bad);
    CHECK(request_problem(broken).find("trials") != std::string::npos);
  }
}

}  // namespace
}  // namespace bicrl
