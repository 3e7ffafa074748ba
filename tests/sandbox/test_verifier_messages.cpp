// What a client may ask.
#include "sandbox/service/verifier_messages.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "proto/verifier.pb.h"

namespace bicrl {
namespace {

namespace wire = verifier::v1;

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
