#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "curation/record.h"
#include "curation/selection/condition.h"

namespace bicrl::curation {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

Record full_record() {
  Record record;
  record.id = "s:1#2";
  record.parent = "s:1";
  record.task_id = "s:1";
  record.name = "Ünïcode \"quoted\"\n";
  record.level = 2;
  record.pytorch_code = "class Model: pass";
  record.operators = {"relu", "sum"};
  record.reduced_sizes = R"([{"M":5},{"M":7}])";
  record.answer.program = "abc";
  record.answer.prefix = "a";
  record.answer.middle = "b";
  record.answer.suffix = "c";
  record.answer.reasoning = "short";
  record.answer.messages = {{ChatRole::kUser, "q"}, {ChatRole::kAssistant, "a"}};
  record.figures["published_speedup"] = 0.1;
  record.labels["uuid"] = "u";
  record.provenance.source = "s";
  record.provenance.entry = 7;
  record.provenance.licence = "MIT";
  record.provenance.seeds = {3, 18446744073709551615u};
  record.provenance.earlier = {{.source = "o", .file = "f", .form = "pairs", .entry = 2, .content = "h"}};
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = verdict.compiled = true;
  verdict.trials = verdict.trials_passed = 4;
  verdict.eager_ms = 3;
  verdict.candidate_ms = 1.5;
  verdict.clock = kModelClock;
  record.verdict = verdict;
  return record;
}

TEST_CASE("record that is written and read again is the same line") {
  const std::string line = to_line(full_record());
  const Record again = record_from_line(line);
  CHECK(to_line(again) == line);
  CHECK(again.provenance == full_record().provenance);
  CHECK(again.task().reduced_sizes == full_record().reduced_sizes);
  CHECK(again.figures.at("published_speedup") == 0.1);
  CHECK(again.verdict->speedup() == 2);
  CHECK(line.find('\n') == line.npos);
}

TEST_CASE("record with the single seed that records once had is read") {
  CHECK(record_from_line(R"({"id": "a", "provenance": {"seed": 7}})").provenance.seeds ==
        std::vector<uint64_t>{7});
}

TEST_CASE("speed-up of a correct program that was not timed is unknown") {
  Record record = full_record();
  record.verdict->eager_ms = record.verdict->candidate_ms = 0;
  CHECK_FALSE(value_of(record, "speedup"));
  record.verdict->correct = false;
  CHECK(value_of(record, "speedup") == RecordValue(0.0));
}

TEST_CASE("record that is none is refused with its field") {
  for (const auto& [line, word] : {std::pair("{\"id\": 3}", "'id'"),
                                   {"{}", "'id'"},
                                   {"[1]", "no object"},
                                   {"{", "not JSON"},
                                   {R"({"id": "a", "level": "x"})", "'level'"},
                                   {R"({"id": "a", "reduced_sizes": [{"M": 0}]})", "'reduced_sizes'"},
                                   {R"({"id": "a", "answer": {"program": 1}})", "'answer.program'"},
                                   {R"({"id": "a", "figures": {"x": "y"}})", "'figures'"},
                                   {R"({"id": "a", "verdict": {"outcome": "superb"}})", "outcome"}}) {
    INFO(line);
    CHECK_THROWS_MATCHES(record_from_line(line), InputError, MessageMatches(ContainsSubstring(word)));
  }
}

TEST_CASE("reduced sizes by hand and published figures go with the code that they were given for") {
  Record record = full_record();
  record.figures["reasoning_tokens"] = 7;
  record.change_code("class Model: size = 3");
  CHECK(record.reduced_sizes.empty());
  CHECK(record.figures == std::map<std::string, double>{{"reasoning_tokens", 7}});
}

TEST_CASE("condition says why a record does not meet it, without the record's own value") {
  const auto condition = [](const std::string& yaml) {
    return Condition::from_config(ConfigDocument::from_text(yaml, "c.yaml").root());
  };
  const Record record = full_record();
  CHECK_FALSE(condition("{value: speedup, at_least: 2}").objection(record));
  CHECK(condition("{value: speedup, above: 2}").objection(record) == "speedup is not above 2");
  CHECK_FALSE(condition("{value: correct, equals: \"true\"}").objection(record));
  CHECK(condition("{value: licence, one_of: [GPL, BSD]}").objection(record) == "licence is not GPL or BSD");
  CHECK(condition("{value: reasoning_tokens, below: 4}").objection(record) == "has no reasoning_tokens");
  CHECK_FALSE(condition("{value: published_speedup, at_least: 0.1, at_most: 0.1}").objection(record));
  CHECK_THROWS_AS(condition("{value: licence, above: 2}").objection(record), InputError);
  CHECK_THROWS_MATCHES(condition("{value: speedup}"), InputError,
                       MessageMatches(ContainsSubstring("say what it must be")));
  CHECK_THROWS_MATCHES(condition("{value: speedup, at_leest: 2}"), InputError,
                       MessageMatches(ContainsSubstring("did you mean at_least?")));
}

TEST_CASE("figures and labels of loaded data do not stand in for a verdict") {
  Record record = full_record();
  record.figures["speedup"] = 99;
  record.labels["correct"] = "false";
  record.labels["difficulty"] = "easy";
  CHECK(value_of(record, "speedup") == RecordValue(2.0));
  CHECK(value_of(record, "correct") == RecordValue(true));
  CHECK(value_of(record, "difficulty") == RecordValue(std::string("easy")));
  record.verdict.reset();
  CHECK_FALSE(value_of(record, "speedup"));
  CHECK_FALSE(value_of(record, "correct"));
}

}  // namespace
}  // namespace bicrl::curation
