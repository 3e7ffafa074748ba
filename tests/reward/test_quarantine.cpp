#include "reward/quarantine.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "reward/reward_rule.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

Verdict success(double speedup = 1, double roofline = 0) {
  Verdict v;
  v.request_id = "first";
  v.outcome = Outcome::kGraded;
  v.compiled = v.correct = true;
  v.trials = v.trials_passed = 5;
  v.reached = "compare";
  v.candidate_ms = 2;
  v.eager_ms = 2 * speedup;
  v.clock = "measured";
  v.roofline_fraction = roofline;
  return v;
}

Verdict failure(const std::string& fault_class, Outcome outcome) {
  Verdict v;
  v.request_id = "second";
  v.outcome = outcome;
  v.fault_class = fault_class;
  v.reached = "run";
  v.diagnostics = "why";
  return v;
}

Quarantine quarantine(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "run.yaml");
  const QuarantineSettings settings = QuarantineSettings::from_config(document.root());
  document.finish();
  return Quarantine(settings);
}

}  // namespace

TEST_CASE("extraordinary successes need a second verification") {
  QuarantineSettings settings;
  settings.roofline_above = 0.9;
  const Quarantine q(settings);
  const auto reason = [&](const Verdict& v) { return q.reason("t", "p", v); };
  CHECK(reason(success(1)).empty());
  CHECK(reason(success(3)).empty());
  CHECK(reason(success(3.01)) == "speedup");
  CHECK(reason(success(1, 0.9)).empty());
  CHECK(reason(success(1, 0.91)) == "roofline");
  CHECK(reason(success(0)).empty());  // not timed
  Verdict impossible = success(1);
  impossible.candidate_ms = 5e-324;
  CHECK(reason(impossible) == "speedup");
  // Failures and masked responses count as they are.
  CHECK_FALSE(q.needs_confirmation("t", "p", failure("compile", Outcome::kCandidateFault)));
  Verdict incorrect = success(9);
  incorrect.correct = false;
  CHECK_FALSE(q.needs_confirmation("t", "p", incorrect));
  Verdict unjudged = success(9);
  unjudged.outcome = Outcome::kInfrastructure;
  CHECK_FALSE(q.needs_confirmation("t", "p", unjudged));

  const Quarantine off = quarantine("{enabled: false, first_success: true}");
  CHECK_FALSE(off.needs_confirmation("t", "p", success(100, 1)));
  const Quarantine other = quarantine("speedup_above: 10");
  CHECK_FALSE(other.needs_confirmation("t", "p", success(9.9)));
  CHECK(other.needs_confirmation("t", "p", success(10.1)));
}

TEST_CASE("the first success on a task is confirmed until one counted") {
  Quarantine q = quarantine("first_success: true");
  CHECK(q.reason("t", "p", success()) == "first_success");
  CHECK_FALSE(q.needs_confirmation("t", "p", failure("wrong_value", Outcome::kGraded)));
  q.note("t", "p", q.confirm(success(), failure("wrong_value", Outcome::kGraded)));
  q.note("t", "p", failure("timeout", Outcome::kCandidateFault));
  q.note("t", "p", failure("", Outcome::kInfrastructure));
  CHECK_FALSE(q.is_solved("t"));
  CHECK(q.reason("t", "other", success()) == "first_success");
  q.note("t", "other", q.confirm(success(), success()));
  CHECK(q.is_solved("t"));
  CHECK_FALSE(q.needs_confirmation("t", "third", success()));
  CHECK(q.reason("t", "third", success(4)) == "speedup");
  CHECK(q.reason("u", "other", success()) == "first_success");
}

TEST_CASE("a program that was refused once is confirmed again, whatever a cache says of it") {
  Quarantine q = quarantine("first_success: true");
  q.note("t", "lucky", q.confirm(success(), failure("wrong_value", Outcome::kGraded)));
  q.note("t", "honest", success());
  CHECK(q.reason("t", "lucky", success()) == "refused_before");
  CHECK_FALSE(q.needs_confirmation("t", "honest", success()));
  CHECK(q.reason("u", "lucky", success()) == "first_success");
  q.note("u", "x", success());
  CHECK_FALSE(q.needs_confirmation("u", "lucky", success()));  // another task
  // One that is refused again and again pushes no other out.
  for (int i = 0; i < 3000; ++i) q.note("t", "stubborn", failure("unconfirmed", Outcome::kCandidateFault));
  CHECK(q.reason("t", "lucky", success()) == "refused_before");
  // Of many, the latest are remembered.
  for (int i = 0; i < 3000; ++i)
    q.note("t", concat("p", i), failure("unconfirmed", Outcome::kCandidateFault));
  CHECK_FALSE(q.needs_confirmation("t", "lucky", success()));
  CHECK(q.needs_confirmation("t", "p2999", success()));
  CHECK(q.state().at("refused").size() < 2000);
}

TEST_CASE("a success that is not repeated becomes a candidate fault") {
  const Quarantine q = quarantine("{}");
  for (const auto& [fault_class, outcome] :
       std::vector<std::pair<std::string, Outcome>>{{"wrong_value", Outcome::kGraded},
                                                    {"nondeterministic", Outcome::kGraded},
                                                    {"illegal_access", Outcome::kCandidateFault},
                                                    {"protocol", Outcome::kCandidateFault}}) {
    const Verdict counted = q.confirm(success(9), failure(fault_class, outcome));
    CHECK(counted.outcome == Outcome::kCandidateFault);
    CHECK(counted.fault_class == "unconfirmed");
    CHECK_FALSE(counted.correct);
    CHECK(counted.request_id == "first");
    CHECK_THAT(counted.diagnostics, ContainsSubstring(fault_class) && ContainsSubstring("why"));
    CHECK(verdict_from_json(to_json(counted)) == counted);  // stored like any other
    // No rule gives it more than any other failure, even if it was right in most of its trials.
    Verdict nearly = failure(fault_class, outcome);
    nearly.trials = 5;
    nearly.trials_passed = 4;
    for (const char* rule : {"binary", "speedup", "milestone", "profile", "pass_rate"}) {
      const auto reward = RewardFunction::from_text(concat("rule: ", rule), "reward.yaml");
      CHECK(reward.evaluate(q.confirm(success(9), nearly), false).value ==
            reward.evaluate(failure("compile", Outcome::kCandidateFault), false).value);
    }
  }
}

TEST_CASE("without a second verdict the response is masked") {
  const Quarantine q = quarantine("{}");
  const Verdict counted = q.confirm(success(9), failure("", Outcome::kInfrastructure));
  CHECK(counted.outcome == Outcome::kInfrastructure);
  CHECK_FALSE(counted.correct);
  CHECK(counted.request_id == "first");
  CHECK(RewardFunction::from_text("rule: binary", "r").evaluate(counted, false).masked);
  CHECK_THAT(counted.diagnostics, ContainsSubstring("why"));
}

TEST_CASE("a confirmed success counts with the less favourable of both measurements") {
  const Quarantine q = quarantine("{}");
  Verdict first = success(9, 0.5), second = success(4, 0.25);
  second.request_id = "second";
  second.cached = true;
  second.torch_compile_ms = 3;
  second.max_error_ratio = 0.5;
  first.lane_operations = 100;
  second.lane_operations = 110;
  const Verdict counted = q.confirm(first, second);
  CHECK(counted.correct);
  CHECK(counted.outcome == Outcome::kGraded);
  CHECK(counted.request_id == "first");
  CHECK(counted.speedup() == 4);
  CHECK(counted.roofline_fraction == 0.25);
  CHECK(counted.torch_compile_ms == 3);
  CHECK(counted.trials == 10);
  CHECK(counted.trials_passed == 10);
  CHECK(counted.max_error_ratio == 0.5);
  CHECK(counted.lane_operations == 210);
  CHECK_FALSE(counted.cached);
  CHECK(q.confirm(success(4), success(9)).speedup() == 4);
  CHECK(q.confirm(success(9), success(0)).speedup() == 0);  // not timed again: not confirmed
  second = success(4);
  second.candidate_ms = second.eager_ms = std::numeric_limits<double>::infinity();
  CHECK(
      RewardFunction::from_text("rule: speedup", "r").evaluate(q.confirm(success(4), second), false).value ==
      0.3);
  CHECK_THROWS_AS(q.confirm(failure("compile", Outcome::kCandidateFault), success()), Error);
}

TEST_CASE("a restored quarantine knows what the saved one knew") {
  Quarantine q = quarantine("first_success: true");
  for (const char* task : {"b", "a", "ü"}) q.note(task, "p", success());
  q.note("a", "lucky", failure("unconfirmed", Outcome::kCandidateFault));
  Quarantine restored = quarantine("first_success: true");
  restored.note("old", "p", success());
  restored.restore(json::parse(q.state().dump()));
  CHECK(restored.state().dump() == q.state().dump());
  CHECK(restored.is_solved("a"));
  CHECK_FALSE(restored.is_solved("old"));
  CHECK(restored.reason("a", "lucky", success()) == "refused_before");
  const json before = q.state();
  for (const json& broken : {json::array(), json::object(), json{{"solved", "a"}, {"refused", json::array()}},
                             json{{"solved", {"x", 1}}, {"refused", json::array()}},
                             json{{"solved", {"x"}}, {"refused", {1}}}, json{{"solved", {"x"}}}}) {
    CHECK_THROWS_AS(q.restore(broken), InputError);
    CHECK(q.state() == before);
  }
}

TEST_CASE("quarantine settings are checked") {
  CHECK_NOTHROW(quarantine("roofline_above: 1"));
  CHECK_NOTHROW(quarantine("{enabled: true, roofline_above: 0.9}"));
  for (const char* bad : {"speedup_above: 0.5", "roofline_above: 1.5", "roofline_above: -1", "enabled: 3",
                          "first_sucess: true"})
    CHECK_THROWS_AS(quarantine(bad), InputError);
}
