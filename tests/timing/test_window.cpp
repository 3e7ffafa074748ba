// The conductor of windows, with parties that follow a script: order, checks, repetition.
#include "sandbox/gpu/timing/window.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <optional>
#include <set>

#include "common/rng.h"

namespace bicrl::timing {
namespace {

using Catch::Matchers::ContainsSubstring;

struct Played {
  std::string log;  // "P" prepares, "T" is timed, "C" is checked, with the party's letter and the test input
  size_t call = 0;  // of the candidate
  double now_s = 0;
  int health_asked = 0;
  int unready = 0;  // parties that have begun to prepare and were not waited for
};

struct Player : TimedParty {
  Player(Played& played, char letter, double ms) : played(played), letter(letter), ms(ms) {}
  Fault prepare(size_t test_input) override {
    if (++begun == fails_to_begin_at) return failure;
    played.log += std::string(" P") + letter + std::to_string(test_input);
    prepared = test_input;
    ++played.unready;
    return {};
  }
  Fault await_ready() override {
    --played.unready;
    played.now_s += ready_s;
    return {};
  }
  Fault time(TimedCall& call) override {
    played.log += std::string(" T") + letter;
    CHECK(played.unready == 0);
    const double takes_ms = ms * (time_of_input ? time_of_input(prepared) : 1);
    played.now_s += takes_ms / 1e3;
    call.event_ms = takes_ms * (1 + 0.002 * noise.normal());
    call.host_ms = call.event_ms + gap_ms;
    ++calls;
    if (calls == fails_at) return failure;
    return {};
  }
  Played& played;
  char letter;
  double ms, gap_ms = 0.005, ready_s = 0;
  size_t prepared = 0, calls = 0, fails_at = 0, begun = 0, fails_to_begin_at = 0;
  Fault failure;
  std::function<double(size_t)> time_of_input = {};  // as a share of ms
  RandomStream noise{7};
};

struct Stage {
  Played played;
  Player candidate{played, 'c', 0.1}, eager{played, 'e', 0.2}, compiled{played, 'k', 0.15};
  RandomStream random{11};
  std::function<Fault(size_t)> check = [](size_t) { return Fault{}; };
  std::function<DeviceHealth(int)> health = [](int) {
    return DeviceHealth{.known = true, .sm_mhz = 1800, .memory_mhz = 3201, .temperature_c = 50, .tenants = 3};
  };
  int rests = 0;
  WindowOptions options;
  WindowResult run(bool both = false, std::stop_token stop = {}) {
    WindowSetting setting{.candidate = &candidate,
                          .baselines = {&eager},
                          .test_inputs = 2,
                          .check =
                              [this](size_t test_input) {
                                played.log += " C" + std::to_string(test_input);
                                ++played.call;
                                return check(test_input);
                              },
                          .health = [this] { return health(played.health_asked++); },
                          .random = [this] { return random.next(); },
                          .rest = [this](int) { ++rests; },
                          .seconds = [this] { return played.now_s; }};
    if (both) setting.baselines.push_back(&compiled);
    return conduct(setting, options, std::move(stop));
  }
};

}  // namespace

TEST_CASE("both sides are prepared with one test input, timed in changing order, and the answer is checked") {
  Stage stage;
  const WindowResult result = stage.run();
  REQUIRE(result.end.reason == "");
  CHECK(result.windows == 1);
  REQUIRE(result.pairs.size() == 1);
  CHECK(result.pairs[0].size() == stage.options.steadiness.least_pairs);
  CHECK(stage.played.call == result.pairs[0].size() + stage.options.warm_up);
  // " Pc0 Pe0 Tc Te", or " Te Tc"; what is answered is checked between the next round's "P"s and "T"s.
  constexpr size_t kCheck = 8, kRound = 17;
  std::string log = stage.played.log;
  CHECK(log.substr(log.size() - 3, 2) == " C");
  log.insert(kCheck, log.substr(log.size() - 3));  // the last answer's, to where the others have theirs
  log.resize(log.size() - 3);
  std::set<std::string> rounds;
  std::string last;
  for (size_t at = 0; at < log.size(); at += kRound) {
    const std::string round = log.substr(at, kRound);
    REQUIRE(round.size() == kRound);
    CHECK(round.substr(0, 3) == " Pc");
    CHECK(round[3] == round[7]);
    CHECK(round.substr(kCheck, 2) == " C");
    if (!last.empty()) {
      CHECK(round[3] != last[3]);  // another test input
      CHECK(round[kCheck + 2] == last[3]);
    }
    last = round;
    rounds.insert(last.erase(kCheck, 3));  // the check's test input is that of the round before
  }
  CHECK(rounds.size() == 4);  // two test inputs, two orders
  CHECK(result.health.least_sm_mhz == 1800);
  CHECK(result.health.most_tenants == 3);
}

TEST_CASE("an answer that is incorrect in any timed call, warm-up included, ends the window as a fault") {
  for (const size_t incorrect_at : {1u, 2u, 9u}) {
    Stage stage;
    stage.check = [&](size_t) {
      return stage.played.call == incorrect_at ? Fault::of_program(FaultClass::kWrongValue, "wrong")
                                               : Fault{};
    };
    const WindowResult result = stage.run();
    CHECK(result.end.blame == Fault::Blame::kProgram);
    CHECK(result.end.is(FaultClass::kWrongValue));
    CHECK(stage.played.call == incorrect_at);
  }
}

TEST_CASE("an answer kept from the call before is never that of this call's test input") {
  Stage stage;
  // What it computes for its first inputs it gives again and again.
  std::optional<size_t> kept;
  stage.check = [&](size_t test_input) {
    if (!kept) kept = test_input;
    return *kept == test_input ? Fault{} : Fault::of_program(FaultClass::kWrongValue, "stale");
  };
  CHECK(stage.run().end.reason == "stale");
  CHECK(stage.played.call == 2);
}

TEST_CASE("a baseline's failure is the verifier's, a candidate's its own") {
  Stage baseline;
  baseline.eager.fails_at = 4;
  baseline.eager.failure = Fault::of_program(FaultClass::kRecord, "out of memory");
  const WindowResult of_baseline = baseline.run();
  CHECK(of_baseline.end.is_infrastructure());
  CHECK_THAT(of_baseline.end.reason, ContainsSubstring("reference on the GPU: out of memory"));
  Stage candidate;
  candidate.candidate.fails_at = 4;
  candidate.candidate.failure = Fault::of_program(FaultClass::kIllegalAccess, "beyond");
  CHECK(candidate.run().end.is(FaultClass::kIllegalAccess));
  Stage lost;
  lost.candidate.fails_at = 4;
  lost.candidate.failure = Fault::infrastructure("999");
  CHECK(lost.run().end.is_infrastructure());
}

TEST_CASE(
    "whoever has begun to prepare is waited for, and an incorrect answer is reported whatever else fails") {
  for (const bool incorrect : {true, false}) {
    Stage stage;
    stage.eager.fails_to_begin_at = 3;
    stage.eager.failure = Fault::infrastructure("gone");
    stage.check = [&](size_t) {
      return incorrect && stage.played.call == 2 ? Fault::of_program(FaultClass::kWrongValue, "wrong")
                                                 : Fault{};
    };
    CHECK(stage.run().end.reason == (incorrect ? "wrong" : "gone"));
    CHECK(stage.played.call == 2);  // of the two answers that there were
    CHECK(stage.played.unready == 0);
  }
  Stage incorrect;
  incorrect.check = [&](size_t) {
    return incorrect.played.call == 4 ? Fault::of_program(FaultClass::kWrongValue, "wrong") : Fault{};
  };
  CHECK(incorrect.run().end.reason == "wrong");
  CHECK(incorrect.played.unready == 0);
  CHECK(incorrect.candidate.calls == 4);
}

TEST_CASE("a throttled window is repeated, and after the third there is no time") {
  Stage once;
  once.health = [](int asked) {
    return DeviceHealth{
        .known = true, .sm_mhz = asked < 4 ? 900u : 1800u, .reasons = asked < 4 ? kHardwareThermal : 0};
  };
  const WindowResult recovered = once.run();
  CHECK_FALSE(recovered.end);
  CHECK(recovered.windows == 2);
  CHECK(once.rests == 1);
  REQUIRE(recovered.repeated_because.size() == 1);
  CHECK_THAT(recovered.repeated_because[0], ContainsSubstring("throttled: thermal (hardware)"));
  CHECK(recovered.health.reasons == 0);
  CHECK(recovered.health.least_sm_mhz == 1800);
  Stage always;
  always.health = [](int) { return DeviceHealth{.known = true, .reasons = kPowerBrake | kPowerCap}; };
  const WindowResult given_up = always.run();
  CHECK(given_up.windows == 3);
  CHECK(always.rests == 2);
  CHECK(given_up.end.is_infrastructure());
  CHECK_THAT(given_up.end.reason, ContainsSubstring("power brake"));
  // The cap of power is where a device works all day.
  Stage capped;
  capped.health = [](int) { return DeviceHealth{.known = true, .reasons = kPowerCap}; };
  CHECK(capped.run().windows == 1);
}

TEST_CASE("what NVML does not say is not guessed") {
  Stage stage;
  stage.health = [](int) { return DeviceHealth{.unknown_because = "no library"}; };
  const WindowResult result = stage.run();
  CHECK_FALSE(result.end);
  CHECK(!result.health.known);
  CHECK(result.health.unknown_because == "no library");
}

TEST_CASE("clocks that disagree give no time, whichever side they do so for") {
  for (const bool eager_too : {true, false}) {
    Stage stage;
    stage.eager.ms = 10;             // beside which the candidate's gap would be small
    stage.candidate.gap_ms = -0.06;  // the host saw less than the events say
    if (eager_too) stage.eager.gap_ms = -0.6;
    const WindowResult result = stage.run();
    CHECK(result.end.is_infrastructure());
    CHECK(result.windows == 3);
    CHECK_THAT(result.end.reason, ContainsSubstring("events and the host's clock differ"));
  }
}

TEST_CASE(
    "a program that a window is too short for has its time by few pairs, or none, and is not at fault") {
  Stage slow;
  slow.candidate.ms = 2000;
  slow.eager.ms = 100;
  const WindowResult few = slow.run();
  REQUIRE_FALSE(few.end);
  CHECK(few.unsteady == "");
  CHECK(few.windows == 1);
  CHECK(few.pairs[0].size() < slow.options.steadiness.least_pairs);
  CHECK(std::abs(estimate_ratio(few.pairs[0]).value * 20 - 1) < 0.02);
  Stage slower;
  slower.candidate.ms = 8000;
  const WindowResult none = slower.run();
  CHECK_FALSE(none.end);
  CHECK(none.windows == 1);  // the next one would be no longer
  CHECK_THAT(none.unsteady, ContainsSubstring("pairs within the window's time"));
}

TEST_CASE(
    "a program whose time depends on its inputs is correct and has none, unless the device was to blame") {
  for (const bool throttled : {false, true}) {
    Stage stage;
    stage.candidate.time_of_input = [](size_t test_input) { return test_input == 0 ? 1.0 : 1.5; };
    if (throttled)
      stage.health = [](int) { return DeviceHealth{.known = true, .reasons = kHardwareThermal}; };
    const WindowResult result = stage.run();
    CHECK(result.windows == (throttled ? 3 : 2));
    CHECK(stage.rests == result.windows - 1);
    CHECK(static_cast<bool>(result.end) == throttled);
    if (throttled)
      CHECK_THAT(result.end.reason, ContainsSubstring("throttled"));
    else
      CHECK_THAT(result.unsteady, ContainsSubstring("the ratio is only known within"));
  }
}

TEST_CASE("a ratio that others have disturbed is known by the next window, behind a rest") {
  Stage stage;
  stage.candidate.time_of_input = [&](size_t test_input) {
    return stage.rests == 0 && test_input == 0 ? 1.5 : 1.0;
  };
  const WindowResult result = stage.run();
  REQUIRE_FALSE(result.end);
  CHECK(result.unsteady == "");
  CHECK(result.windows == 2);
  CHECK(stage.rests == 1);
}

TEST_CASE("a window whose sides have changed their speed is repeated at once, but for the last") {
  Stage always;
  int calls = 0;
  always.candidate.time_of_input = [&](size_t) { return std::pow(1.05, calls++); };
  const WindowResult changing = always.run();
  CHECK(changing.windows == 3);
  CHECK(always.rests == 1);
  CHECK_THAT(changing.unsteady, ContainsSubstring("changed its speed"));
  Stage stage;
  int call = 0;
  stage.candidate.time_of_input = [&](size_t) { return ++call > 12 ? 1.0 : 1.5; };
  const WindowResult result = stage.run();
  REQUIRE_FALSE(result.end);
  CHECK(result.windows == 2);
  CHECK(stage.rests == 0);
  REQUIRE(result.repeated_because.size() == 1);
  CHECK_THAT(result.repeated_because[0], ContainsSubstring("changed its speed"));
}

TEST_CASE("what a window took is reported by its parts") {
  Stage stage;
  stage.check = [&](size_t) {
    stage.played.now_s += 0.002;
    return Fault{};
  };
  stage.candidate.ready_s = 0.003;
  const WindowResult result = stage.run();
  const double calls = static_cast<double>(stage.played.call);
  CHECK(std::abs(result.parts.check_s / (0.002 * calls) - 1) < 1e-9);
  CHECK(std::abs(result.parts.candidate_s / (0.1e-3 * calls) - 1) < 1e-9);
  CHECK(std::abs(result.parts.baselines_s / (0.2e-3 * calls) - 1) < 1e-9);
  CHECK(std::abs(result.parts.prepare_s / (0.003 * calls) - 1) <
        1e-9);  // the checks that it covers do not count
}

TEST_CASE("two baselines share a window, and a cancelled one ends") {
  Stage stage;
  const WindowResult result = stage.run(/*both=*/true);
  REQUIRE(result.pairs.size() == 2);
  CHECK(result.pairs[0].size() == result.pairs[1].size());
  CHECK(std::abs(estimate_ratio(result.pairs[0]).value - 2) < 0.02);
  CHECK(std::abs(estimate_ratio(result.pairs[1]).value - 1.5) < 0.02);
  std::stop_source stop;
  stop.request_stop();
  Stage cancelled;
  CHECK(cancelled.run(false, stop.get_token()).end.reason == "cancelled");
}

}  // namespace bicrl::timing
