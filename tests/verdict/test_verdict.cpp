#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "tests/verdict/verdict_examples.h"
#include "verdict/fault/fault_class.h"
#include "verdict/verdict.h"
#include "verdict/verdict_fields.h"

using namespace bicrl;
using bicrl::testing::full_verdict;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("a verdict survives JSON text, every field of it") {
  const Verdict verdicts[] = {full_verdict(true), full_verdict(false)}, fresh;
  for (const Verdict& verdict : verdicts)
    CHECK(verdict_from_json(json::parse(to_json(verdict).dump())) == verdict);
  // What survived is something: no field of both examples is as in a fresh verdict.
  for_each_field(fresh, [&](const auto& field, const auto& value) {
    INFO(field.name());
    CHECK_FALSE((verdicts[0].*field.member == value && verdicts[1].*field.member == value));
  });
  CHECK(verdict_from_json(json::parse(to_json(Verdict{}).dump())) == Verdict{});
}

TEST_CASE("an unbounded error ratio survives JSON text") {
  Verdict verdict = full_verdict(false);
  verdict.max_error_ratio = std::numeric_limits<double>::infinity();
  CHECK(verdict_from_json(json::parse(to_json(verdict).dump())) == verdict);
  verdict.max_error_ratio = std::nan("");
  CHECK(std::isinf(verdict_from_json(json::parse(to_json(verdict).dump())).max_error_ratio));
}

TEST_CASE("a verdict's broken field is named") {
  const json good = to_json(full_verdict(false));
  for (const auto& [field, value] : good.items()) {
    json missing = good;
    missing.erase(field);
    json mistyped = good;
    mistyped[field] = json::array();
    for (const json& broken : {missing, mistyped}) {
      INFO(field);
      CHECK_THROWS_AS(verdict_from_json(broken), InputError);
      try {
        verdict_from_json(broken);
      } catch (const InputError& error) {
        CHECK_THAT(error.what(), ContainsSubstring("'" + field + "'"));
      }
    }
  }
  const auto broken = [&](const char* field, const json& value) {
    json copy = good;
    copy[field] = value;
    return copy;
  };
  CHECK_THROWS_AS(verdict_from_json(broken("outcome", "fine")), InputError);
  CHECK_THROWS_AS(verdict_from_json(broken("fault_class", "bad_luck")), InputError);
  CHECK_THROWS_AS(verdict_from_json(broken("trials", -1)), InputError);
  CHECK_THROWS_AS(verdict_from_json(broken("trials_passed", 6)), InputError);
  CHECK_THROWS_AS(verdict_from_json(broken("correct", true)), InputError);
  CHECK_THROWS_AS(verdict_from_json(json::array()), InputError);
}

TEST_CASE("a verdict under an earlier protocol is refused, and the message says what to do") {
  const auto refused = [](const json& old, const std::string& field) {
    CHECK_THROWS_WITH(verdict_from_json(old), ContainsSubstring("the field '" + field + "'") &&
                                                  ContainsSubstring("another protocol") &&
                                                  ContainsSubstring("start a new run"));
  };
  // As protocol 2 wrote them, and what was before.
  json old = to_json(full_verdict(true));
  for (const char* field : {"tolerance", "run_ms", "lane_operations"}) old.erase(field);
  old["tier"] = "replay";
  old["replay_ms"] = 3.0;
  refused(old, "tier");
  old["stage"] = old["reached"];
  old.erase("reached");
  refused(old, "stage");
  // Beside all fields of today, too: they would be left over.
  json mixed = to_json(full_verdict(true));
  mixed["replay_ms"] = 3.0;
  refused(mixed, "replay_ms");
}

TEST_CASE("work is counted in full") {
  Verdict verdict = full_verdict(true);
  verdict.lane_operations = std::numeric_limits<int64_t>::max();
  CHECK(verdict_from_json(json::parse(to_json(verdict).dump())) == verdict);
  json stored = to_json(verdict);
  for (const json& broken : {json(-1), json(uint64_t{1} << 63), json(1e12), json("1")}) {
    stored["lane_operations"] = broken;
    CHECK_THROWS_WITH(verdict_from_json(stored), ContainsSubstring("'lane_operations'"));
  }
}

TEST_CASE("what a verdict cannot say is named") {
  Verdict good = full_verdict(false);
  REQUIRE(verdict_problem(good).empty());
  REQUIRE(verdict_problem(Verdict{}).empty());
  good.max_error_ratio = std::numeric_limits<double>::infinity();
  REQUIRE(verdict_problem(good).empty());
  const auto problem = [&](auto change) {
    Verdict bad = good;
    change(bad);
    return verdict_problem(bad);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THAT(problem([](Verdict& v) { v.trials_passed = -1; }), ContainsSubstring("'trials_passed' is -1"));
  CHECK_THAT(problem([](Verdict& v) { v.trials = -5; }), ContainsSubstring("trials"));
  CHECK_THAT(problem([](Verdict& v) { v.max_error_ratio = kNan; }), ContainsSubstring("'max_error_ratio'"));
  CHECK_THAT(problem([](Verdict& v) { v.candidate_ms = -1; }), ContainsSubstring("'candidate_ms' is -1"));
  CHECK_THAT(problem([](Verdict& v) { v.run_ms = kNan; }), ContainsSubstring("'run_ms'"));
  CHECK_THAT(problem([](Verdict& v) { v.lane_operations = -1; }),
             ContainsSubstring("'lane_operations' is -1"));
  for (const char* unknown : {"open", "generous"})
    CHECK_THAT(problem([&](Verdict& v) { v.tolerance = unknown; }), ContainsSubstring("'tolerance'"));
  CHECK(problem([](Verdict& v) { v.tolerance.clear(); }).empty());  // it was not compared
}

TEST_CASE("outcomes and fault classes have names") {
  CHECK(to_string(Outcome::kGraded) == "graded");
  CHECK(to_string(Outcome::kCandidateFault) == "candidate_fault");
  CHECK(to_string(Outcome::kInfrastructure) == "infrastructure");
  std::set<std::string_view> names;
  for (const FaultClassEntry& entry : fault_classes()) {
    CHECK_FALSE(entry.meaning.empty());
    CHECK(find_fault_class(entry.name) == entry.value);
    CHECK(to_string(entry.value) == entry.name);
    names.insert(entry.name);
  }
  CHECK(names.size() == fault_classes().size());
  CHECK_FALSE(find_fault_class(""));
}
