// Between plain structs and protocol messages: nothing is left out, nothing impossible comes in, and an
// answer always arrives.
#include "verdict/verifier_wire.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "proto/verifier.pb.h"
#include "tests/verdict/verdict_examples.h"
#include "verdict/verdict_fields.h"

namespace bicrl {
namespace {

namespace wire = verifier::v1;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The paths of all fields of a message and of the messages within it.
std::set<std::string> paths_of(const Descriptor& message, const std::string& prefix = "") {
  std::set<std::string> paths;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      paths.merge(paths_of(*field.message_type(), prefix + field.name() + "."));
    else
      paths.insert(prefix + field.name());
  }
  return paths;
}

// Those that are set.
std::set<std::string> set_paths(const google::protobuf::Message& message, const std::string& prefix = "") {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::set<std::string> paths;
  for (const FieldDescriptor* field : fields)
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
      paths.merge(
          set_paths(message.GetReflection()->GetMessage(message, field), prefix + field->name() + "."));
    else
      paths.insert(prefix + field->name());
  return paths;
}

template <class Message>
Message sent(const Message& message) {
  Message arrived;
  REQUIRE(arrived.ParseFromString(message.SerializeAsString()));
  return arrived;
}

TEST_CASE("the list of a verdict's fields names every member and every field of the message once") {
  Verdict verdict;
  std::set<std::string> paths, names;
  std::set<const void*> members;
  for_each_field(verdict, [&](const auto& field, const auto& member) {
    paths.emplace(field.path);
    names.emplace(field.name());
    members.insert(&member);
  });
  constexpr size_t kFields = std::tuple_size_v<decltype(kVerdictFields)>;
  CHECK(members.size() == kFields);  // and no more members exist: see the assertion beside the list
  CHECK(names.size() == kFields);
  CHECK(paths == paths_of(*wire::Verdict::descriptor()));
}

TEST_CASE("a verdict survives the wire whole") {
  for (const bool correct : {true, false})
    for (const Outcome outcome : {Outcome::kGraded, Outcome::kCandidateFault, Outcome::kInfrastructure}) {
      Verdict verdict = testing::full_verdict(correct && outcome == Outcome::kGraded);
      verdict.outcome = outcome;
      wire::Verdict message;
      to_wire(verdict, message);
      const auto back = from_wire(sent(message));
      REQUIRE(back.ok());
      CHECK(back.value() == verdict);
    }
}

TEST_CASE("a verdict arrives whatever bytes the candidate printed") {
  Verdict verdict;
  verdict.outcome = Outcome::kCandidateFault;
  verdict.fault_class = "record";
  for (const std::string& printed :
       {std::string("\xff\xfe"), std::string("cut \xe2\x82"), std::string("\0x", 2), std::string("fine ü")}) {
    verdict.diagnostics = printed;
    wire::Verdict message;
    to_wire(verdict, message);
    // Parsing refuses text that is no UTF-8; the client would see a failed call instead of the fault.
    const wire::Verdict arrived = sent(message);
    CHECK(arrived.fault_class() == "record");
    CHECK_FALSE(arrived.diagnostics().empty());
  }
}

TEST_CASE("a reply that says what no verdict can say is not believed") {
  using Message = wire::Verdict;
  struct Fault {
    const char* expected;
    void (*inject)(Message&);
  };
  const Fault faults[] = {
      {"no known outcome (0)", [](Message& m) { m.clear_outcome(); }},
      {"no known outcome (17)", [](Message& m) { m.set_outcome(static_cast<wire::Outcome>(17)); }},
      {"trials_passed", [](Message& m) { m.set_trials_passed(4); }},
      {"trials_passed", [](Message& m) { m.set_trials_passed(-1); }},
      {"trials_passed", [](Message& m) { m.set_trials(-3); }},
      {"fault_class", [](Message& m) { m.set_fault_class("sunspots"); }},
      {"correct", [](Message& m) { m.set_fault_class("wrong_value"); }},
      {"correct", [](Message& m) { m.set_outcome(wire::OUTCOME_INFRASTRUCTURE); }},
      {"max_error_ratio", [](Message& m) { m.set_max_error_ratio(kNan); }},
      {"max_error_ratio", [](Message& m) { m.set_max_error_ratio(-1); }},
      {"tolerance", [](Message& m) { m.set_tolerance("generous"); }},
      {"tolerance", [](Message& m) { m.set_tolerance("open"); }},
      {"lane_operations", [](Message& m) { m.set_lane_operations(-1); }},
      {"candidate_ms", [](Message& m) { m.mutable_times()->set_candidate_ms(kNan); }},
      {"eager_ms", [](Message& m) { m.mutable_times()->set_eager_ms(kInfinity); }},
      {"total_ms", [](Message& m) { m.set_total_ms(-1); }},
  };
  Message good;
  good.set_outcome(wire::OUTCOME_GRADED);
  good.set_correct(true);
  good.set_trials(3);
  good.set_trials_passed(3);
  good.set_max_error_ratio(kInfinity);  // an unbounded error is one
  REQUIRE(from_wire(good).ok());
  for (const Fault& fault : faults) {
    Message bad = good;
    fault.inject(bad);
    const auto read = from_wire(bad);
    INFO(fault.expected);
    REQUIRE_FALSE(read.ok());
    CHECK(read.reason().find(fault.expected) != std::string::npos);
  }
}

TEST_CASE("a request survives the wire whole") {
  // A member that is new must be sent, and be set here.
  static_assert(field_count<VerificationRequest>() == 7 && field_count<VerificationProtocol>() == 5);
  const VerificationRequest request{
      .request_id = "a",
      .task_id = "b",
      .pytorch_code = "c",
      .program = "d",
      .protocol = {.tolerance = TolerancePolicy::kTf32,
                   .trials = 3,
                   .measure_time = true,
                   .size = SizePolicy::kReduced,
                   .specialised = SpecialisedPolicy::kMask},
      .reduced_sizes = "[{\"n\": 3}]",
      .fresh = true,
  };
  wire::VerifyRequest message;
  to_wire(request, message);
  CHECK(set_paths(message) == paths_of(*wire::VerifyRequest::descriptor()));
  const auto back = from_wire(sent(message));
  REQUIRE(back.ok());
  CHECK(back.value() == request);
}

std::string problem(const wire::VerifyRequest& message) {
  const auto read = from_wire(message);
  return read ? "" : read.reason();
}

TEST_CASE("a request with impossible values is refused by field") {
  wire::VerifyRequest request;
  CHECK(problem(request).find("pytorch_code") != std::string::npos);
  request.mutable_task()->set_pytorch_code("class Model");
  CHECK(problem(request).empty());
  for (const std::string bad : {"generous", "Profile", " ", "profile,tf32"}) {
    wire::VerifyRequest broken = request;
    broken.mutable_protocol()->set_tolerance(bad);
    CHECK(problem(broken).find("protocol.tolerance is '" + bad + "'") != std::string::npos);
  }
  for (const int bad : {-1, 33, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    wire::VerifyRequest broken = request;
    broken.mutable_protocol()->set_trials(bad);
    CHECK(problem(broken).find("trials") != std::string::npos);
  }
}

TEST_CASE("a request in the words of an earlier protocol is refused, not graded otherwise than it asks") {
  // atol (field 1, a double) and rtol (field 2) as protocol 2 had them.
  for (const char* field : {"\x09", "\x11"}) {
    wire::VerifyRequest request;
    request.mutable_task()->set_pytorch_code("class Model");
    REQUIRE(request.mutable_protocol()->ParseFromString(field + std::string("\0\0\0\0\0\0\xe0\x3f", 8)));
    CHECK(problem(sent(request)).find("atol and rtol") != std::string::npos);
  }
}

TEST_CASE("every tolerance has a name of its own, on the wire as well") {
  std::set<std::string_view> names;
  for (const TolerancePolicy policy : {TolerancePolicy::kOpen, TolerancePolicy::kProfile,
                                       TolerancePolicy::kTf32, TolerancePolicy::kPublished}) {
    names.insert(to_string(policy));
    CHECK(parse_tolerance(to_string(policy)) == policy);
    VerificationRequest request;
    request.pytorch_code = "class Model";
    request.protocol.tolerance = policy;
    wire::VerifyRequest message;
    to_wire(request, message);
    CHECK(from_wire(sent(message)).value().protocol.tolerance == policy);
  }
  CHECK(names.size() == 4);
  CHECK_FALSE(parse_tolerance(""));
  // A client that says nothing leaves it open.
  wire::VerifyRequest silent;
  silent.mutable_task()->set_pytorch_code("class Model");
  CHECK(from_wire(silent).value().protocol == VerificationProtocol{});
}

TEST_CASE("policies of sizes have names of their own, on the wire as well") {
  for (const SizePolicy size :
       {SizePolicy::kOpen, SizePolicy::kFitting, SizePolicy::kOwn, SizePolicy::kReduced})
    for (const SpecialisedPolicy specialised :
         {SpecialisedPolicy::kOpen, SpecialisedPolicy::kIncorrect, SpecialisedPolicy::kMask}) {
      CHECK(parse_size_policy(to_string(size)) == size);
      CHECK(parse_specialised_policy(to_string(specialised)) == specialised);
      VerificationRequest request;
      request.pytorch_code = "class Model";
      request.protocol.size = size;
      request.protocol.specialised = specialised;
      wire::VerifyRequest message;
      to_wire(request, message);
      CHECK(from_wire(sent(message)).value().protocol == request.protocol);
    }
  wire::VerifyRequest broken;
  broken.mutable_task()->set_pytorch_code("class Model");
  broken.mutable_protocol()->set_size("small");
  CHECK(problem(broken).find("protocol.size is 'small'") != std::string::npos);
  broken.mutable_protocol()->set_size("");
  broken.mutable_protocol()->set_specialised("right");
  CHECK(problem(broken).find("protocol.specialised is 'right'") != std::string::npos);
}

TEST_CASE("a protocol's open ends are filled in, and unequal protocols read differently") {
  const VerificationProtocol given{.tolerance = TolerancePolicy::kPublished,
                                   .trials = 7,
                                   .size = SizePolicy::kOwn,
                                   .specialised = SpecialisedPolicy::kMask};
  CHECK(given.or_else(kDefaultProtocol) == given);
  CHECK(VerificationProtocol{.trials = 7}.or_else(kDefaultProtocol) ==
        VerificationProtocol{.tolerance = TolerancePolicy::kProfile,
                             .trials = 7,
                             .measure_time = false,
                             .size = SizePolicy::kFitting,
                             .specialised = SpecialisedPolicy::kIncorrect});
  CHECK(VerificationProtocol{}.or_else(kDefaultProtocol) == kDefaultProtocol);
  CHECK(given.or_else({.measure_time = true}).measure_time);
  CHECK(to_string(kDefaultProtocol) == "tolerance profile, 4 trials, size fitting, specialised wrong");
  CHECK(to_string(VerificationProtocol{.measure_time = true}) ==
        "tolerance open, 0 trials, size open, specialised open, times");
}

TEST_CASE("whatever verdicts depend on is part of their basis") {
  VerifierDescription verifier;
  verifier.backend = "ptx/torch-2.11.0/0123abcd";
  verifier.protocol_version = kProtocolVersion;
  verifier.protocol = kDefaultProtocol;
  const std::string basis = grading_basis(verifier, {});
  CHECK(basis == concat("ptx/torch-2.11.0/0123abcd, protocol ", kProtocolVersion,
                        ", tolerance profile, 4 trials, size fitting, specialised wrong"));
  CHECK(grading_basis(verifier, kDefaultProtocol) == basis);  // asked for what it does anyway
  std::set<std::string> all{basis,
                            grading_basis(verifier, {.tolerance = TolerancePolicy::kTf32}),
                            grading_basis(verifier, {.tolerance = TolerancePolicy::kPublished}),
                            grading_basis(verifier, {.trials = 5}),
                            grading_basis(verifier, {.size = SizePolicy::kReduced}),
                            grading_basis(verifier, {.specialised = SpecialisedPolicy::kMask}),
                            grading_basis(verifier, {.measure_time = true})};
  const auto with = [&](auto change) {
    VerifierDescription other = verifier;
    change(other);
    all.insert(grading_basis(other, {}));
  };
  with([](auto& v) { v.backend = "gpu"; });
  with([](auto& v) { v.protocol_version = "2"; });
  with([](auto& v) { v.protocol.trials = 3; });
  CHECK(all.size() == 10);
  // Times come from a clock, and modelled ones from a device's tables; who asks for none does not care.
  const auto timed = [&](const std::string& clock, const std::string& device) {
    VerifierDescription other = verifier;
    other.clock = clock;
    other.device = device;
    CHECK(grading_basis(other, {}) == basis);
    all.insert(grading_basis(other, {.measure_time = true}));
  };
  timed("measured", "");
  timed("model", "h100, tables 1");
  timed("model", "a100, tables 1");
  CHECK(all.size() == 13);
}

TEST_CASE("a verifier of another protocol, or without times where they are asked for, is of no use") {
  VerifierDescription verifier;
  verifier.protocol_version = kProtocolVersion;
  const VerificationProtocol timed{.measure_time = true};
  CHECK(verifier_problem(verifier, {}).empty());
  CHECK(verifier_problem(verifier, timed).find("tells no times") != std::string::npos);
  CHECK(times_problem(timed, "") == verifier_problem(verifier, timed));
  CHECK(times_problem({}, "").empty());
  verifier.clock = kModelClock;
  CHECK(verifier_problem(verifier, timed).empty());
  verifier.protocol_version = "2";
  CHECK(verifier_problem(verifier, {}).find(concat("speaks protocol 2, this program ", kProtocolVersion)) !=
        std::string::npos);
}

TEST_CASE("a description survives the wire whole") {
  static_assert(field_count<VerifierDescription>() == 11);  // the address is not sent
  VerifierDescription description{
      .address = "",
      .backend = "ptx",
      .protocol_version = "1",
      .workers = 2,
      .sandbox_features = {"a", "b"},
      .missing_features = {"c: why"},
      .verified = int64_t{1} << 40,
      .cache_hits = 4,
      .protocol = {.tolerance = TolerancePolicy::kPublished, .trials = 3, .measure_time = true},
      .clock = "model",
      .device = "h100, tables 1",
  };
  wire::DescribeReply message;
  to_wire(description, message);
  CHECK(set_paths(message) == paths_of(*wire::DescribeReply::descriptor()));
  CHECK(from_wire(sent(message)).value() == description);
  message.mutable_protocol()->set_tolerance("later");
  CHECK(from_wire(message).reason().find("protocol.tolerance is 'later'") != std::string::npos);
}

}  // namespace
}  // namespace bicrl
