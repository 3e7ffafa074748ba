// The client's parts that need no server.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "common/utf8.h"
#include "proto/verifier.pb.h"
#include "reward/client/call_failure.h"
#include "reward/client/server_pool.h"
#include "reward/client/verdict_memory.h"
#include "reward/client/verdict_wire.h"

using namespace bicrl;
using namespace std::chrono_literals;

TEST_CASE("a verdict survives the wire whole") {
  Verdict v;
  v.request_id = "r1";
  v.stage = "compare";
  v.compiled = v.cached = true;
  v.trials = 5;
  v.trials_passed = 3;
  v.max_error_ratio = 1.5;
  v.tier = "replay";
  v.legality = "native";
  v.coverage = 0.25;
  v.candidate_ms = 1;
  v.eager_ms = 2;
  v.candidate_spread_ms = 3;
  v.eager_spread_ms = 4;
  v.torch_compile_ms = 9;
  v.roofline_fraction = 0.5;
  v.clock = "cpu";
  v.diagnostics = "ümläut \n";
  v.compile_ms = 5;
  v.record_ms = 6;
  v.replay_ms = 7;
  v.total_ms = 8;
  v.backend = "host";
  std::set<std::string> seen;
  for (Outcome outcome : {Outcome::kGraded, Outcome::kCandidateFault, Outcome::kInfrastructure}) {
    v.outcome = outcome;
    // Nothing is correct beside a fault.
    v.correct = outcome == Outcome::kGraded;
    v.fault_class = v.correct ? "" : "wrong_value";
    verifier::v1::Verdict message, parsed;
    to_wire(v, message);
    REQUIRE(parsed.ParseFromString(message.SerializeAsString()));
    const auto* reflection = parsed.GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> set;
    reflection->ListFields(parsed, &set);
    for (const auto* field : set) seen.insert(field->name());
    const auto back = from_wire(parsed);
    REQUIRE(back.ok());
    CHECK(back.value() == v);
  }
  // Every field of the message was set, so none was forgotten in either direction.
  CHECK(int(seen.size()) == verifier::v1::Verdict::descriptor()->field_count());
  verifier::v1::Verdict unknown;
  CHECK_FALSE(from_wire(unknown).ok());
  unknown.set_outcome(static_cast<verifier::v1::Outcome>(17));
  CHECK_FALSE(from_wire(unknown).ok());
}

TEST_CASE("a reply that says what no verdict can say is not believed") {
  using Message = verifier::v1::Verdict;
  struct Fault {
    const char* expected;
    void (*inject)(Message&);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Fault faults[] = {
      {"trials_passed", [](Message& m) { m.set_trials_passed(4); }},
      {"trials_passed", [](Message& m) { m.set_trials_passed(-1); }},
      {"trials_passed", [](Message& m) { m.set_trials(-3); }},
      {"fault_class", [](Message& m) { m.set_fault_class("sunspots"); }},
      {"correct", [](Message& m) { m.set_fault_class("wrong_value"); }},
      {"correct", [](Message& m) { m.set_outcome(verifier::v1::OUTCOME_INFRASTRUCTURE); }},
      {"max_error_ratio", [](Message& m) { m.set_max_error_ratio(kNan); }},
      {"max_error_ratio", [](Message& m) { m.set_max_error_ratio(-1); }},
      {"coverage", [](Message& m) { m.set_coverage(kNan); }},
      {"coverage", [](Message& m) { m.set_coverage(1.5); }},
      {"candidate_ms", [](Message& m) { m.mutable_times()->set_candidate_ms(kNan); }},
      {"eager_ms", [](Message& m) { m.mutable_times()->set_eager_ms(kInfinity); }},
      {"total_ms", [](Message& m) { m.set_total_ms(-1); }},
  };
  Message good;
  good.set_outcome(verifier::v1::OUTCOME_GRADED);
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

TEST_CASE("text becomes well-formed UTF-8") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(to_utf8("plain \x01 ü 中 😀") == "plain \x01 ü 中 😀");
  CHECK(to_utf8(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(to_utf8("\x80") == bad);
  CHECK(to_utf8("\xc0\xaf") == bad + bad);                      // overlong
  CHECK(to_utf8("\xe4\xb8") == bad + bad);                      // cut off at the end
  CHECK(to_utf8("\xf4\x90\x80\x80") == bad + bad + bad + bad);  // beyond U+10FFFF
  CHECK(to_utf8("\xf0\x80\x80\x80").size() == 12);
  CHECK(to_utf8("\xe0\x80\xaf").size() == 9);
  // Whatever comes in, Protobuf takes what comes out.
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>((i * 7919 + i / 13 * 104729) >> 3);
  verifier::v1::VerifyRequest message, parsed;
  message.set_program(to_utf8(bytes));
  CHECK(parsed.ParseFromString(message.SerializeAsString()));
  CHECK(to_utf8(to_utf8(bytes)) == to_utf8(bytes));
}

TEST_CASE("the verdict memory is bounded and forgets the least recently used") {
  VerdictMemory memory(2);
  const auto named = [](const std::string& id) {
    Verdict v;
    v.request_id = id;
    return v;
  };
  memory.store("a", named("1"));
  memory.store("b", named("2"));
  REQUIRE(memory.find("a"));
  memory.store("c", named("3"));
  CHECK(memory.size() == 2);
  CHECK(memory.find("b") == nullptr);
  REQUIRE(memory.find("a"));
  memory.store("a", named("4"));
  CHECK(memory.size() == 2);
  CHECK(memory.find("a")->request_id == "4");
  CHECK(memory.find("c")->request_id == "3");
  VerdictMemory none(0);
  none.store("a", named("1"));
  CHECK(none.find("a") == nullptr);
}

TEST_CASE("the pool prefers the least loaded server that answers") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(3, 1s, 4s);
  CHECK(pool.begin(now, {}) == 0);
  CHECK(pool.begin(now, {}) == 1);
  CHECK(pool.begin(now, {}) == 2);
  pool.end(1);
  CHECK(pool.begin(now, {}) == 1);
}

TEST_CASE("a server that fails is left alone, longer each time") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(2, 1s, 4s);
  const auto is_paused = [&](auto at) { return !pool.another_is_up(1, at); };
  pool.failed(0, now);
  CHECK(is_paused(now + 900ms));
  CHECK_FALSE(is_paused(now + 1100ms));
  pool.failed(0, now);
  CHECK(is_paused(now + 1900ms));
  CHECK_FALSE(is_paused(now + 2100ms));
  for (int i = 0; i < 2; ++i) CHECK(pool.begin(now + 1900ms, {}) == 1);
  CHECK(pool.begin(now + 2100ms, {}) == 0);
  for (int i = 0; i < 40; ++i) pool.failed(0, now);
  CHECK(is_paused(now + 3900ms));
  CHECK_FALSE(is_paused(now + 4100ms));
  pool.succeeded(0);
  CHECK_FALSE(is_paused(now));
  pool.failed(0, now);
  CHECK_FALSE(is_paused(now + 1100ms));  // a success ends the doubling
}

TEST_CASE("a retry goes elsewhere, unless everybody else is down") {
  const ServerPool::Clock::time_point now{};
  ServerPool pool(2, 1s, 4s);
  for (int i = 0; i < 5; ++i) CHECK(pool.begin(now, 0) == 1);
  CHECK(pool.another_is_up(0, now));
  pool.failed(1, now);
  CHECK_FALSE(pool.another_is_up(0, now));
  CHECK(pool.begin(now, 0) == 0);
  ServerPool alone(1, 1s, 4s);
  CHECK_FALSE(alone.another_is_up(0, now));
  CHECK(alone.begin(now, 0) == 0);
}

TEST_CASE("pauses between attempts grow, stay bounded and differ between requests") {
  for (int attempts = 1; attempts < 100; ++attempts) {
    const double pause_s = backoff_s(attempts, 0.5, 8, "key");
    const double nominal_s = std::min(0.5 * std::pow(2.0, attempts - 1), 8.0);
    CHECK(pause_s >= 0.75 * nominal_s);
    CHECK(pause_s <= 1.25 * nominal_s);
  }
  CHECK(backoff_s(1, 1, 8, "a") != backoff_s(1, 1, 8, "b"));
}
