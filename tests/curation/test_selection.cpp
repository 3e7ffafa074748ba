// Steps that choose among records: select, balance, split, label, deduplicate, count_tokens.
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "curation/code/program_text.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Ids = std::vector<std::string>;

// ConCuR's rule on tasks whose selection is known by hand. In A the shortest trace is the fastest kernel; in
// B it is not; in C it is not either, but two kernels are above 5; in D one sample stands alone; in E two are
// equally fast and the longer one comes first.
std::vector<Record> concur_samples() {
  return {sample("a1", "A", 1.5, 900), sample("a2", "A", 3.0, 400), sample("a3", "A", 2.0, 700),
          sample("b1", "B", 4.0, 800), sample("b2", "B", 1.2, 300), sample("c1", "C", 6.0, 800),
          sample("c2", "C", 9.0, 900), sample("c3", "C", 1.0, 100), sample("d1", "D", 0.5, 5000),
          sample("e1", "E", 2.0, 600), sample("e2", "E", 2.0, 500)};
}

TEST_CASE("select keeps the shortest trace that is the fastest kernel, or a speed-up above the bound") {
  FakeServices services;
  const std::string rule =
      "select, agree: [lowest reasoning_tokens, highest speedup], or_when: [{value: speedup, above: 5}]";
  const StepResult one = run_step(rule + ", best: [highest speedup]", concur_samples(), services);
  CHECK(one.ids() == Ids{"a2", "c2", "d1", "e2"});
  CHECK(one.dropped.size() == 7);
  CHECK(one.dropped.at("b1") == "no rule holds for its task");
  CHECK(one.dropped.at("a1") == "another of its task was selected");
  CHECK(run_step(rule + ", keep: 0", concur_samples(), services).ids() == Ids{"a2", "c1", "c2", "d1", "e2"});
}

TEST_CASE("select keeps the best of each group in the records' order") {
  FakeServices services;
  std::vector<Record> records = concur_samples();
  CHECK(run_step("select, best: [highest speedup], keep: 2", records, services).ids() ==
        Ids{"a2", "a3", "b1", "b2", "c1", "c2", "d1", "e1", "e2"});
  CHECK(run_step("select, best: [highest speedup, lowest reasoning_tokens]", records, services).ids() ==
        Ids{"a2", "b1", "c2", "d1", "e2"});
  // A record without the value is never better than one with it.
  records[1].verdict.reset();
  CHECK(run_step("select, best: [highest speedup]", records, services).ids()[0] == "a3");
  records[0].task_id.clear();
  CHECK(run_step("select, best: [highest speedup]", records, services).dropped.at("a1") == "has no task");
}

TEST_CASE("select without an order or with an unknown one is refused") {
  FakeServices services;
  CHECK_THROWS_MATCHES(run_step("select, keep: 2", concur_samples(), services), InputError,
                       MessageMatches(ContainsSubstring("best")));
  CHECK_THROWS_MATCHES(run_step("select, best: [fastest]", concur_samples(), services), InputError,
                       MessageMatches(ContainsSubstring("highest VALUE")));
  CHECK_THROWS_MATCHES(run_step("select, bset: [highest speedup]", concur_samples(), services), InputError,
                       MessageMatches(ContainsSubstring("best")));
  CHECK_THROWS_MATCHES(run_step("select, best: [highest task]", concur_samples(), services), InputError,
                       MessageMatches(ContainsSubstring("is no number")));
}

TEST_CASE("names of a record's own values are refused as figures and labels") {
  FakeServices services;
  std::vector<Record> records = concur_samples();
  records[0].figures["speedup"] = 99;
  records[1].labels["outcome"] = "graded";
  records[2].labels[kOriginalTask] = "A";  // a variant's
  const StepResult result = run_step("select, best: [highest speedup]", records, services);
  CHECK(result.ids() == Ids{"a3", "b1", "c2", "d1", "e1"});
  CHECK_THROWS_MATCHES(run_step("label, label: speedup, value: level, classes: [{name: x, above: 0}]",
                                concur_samples(), services),
                       InputError,
                       MessageMatches(ContainsSubstring("'speedup' is a value that every record has")));
  CHECK_THROWS_MATCHES(run_step("split, label: source", concur_samples(), services), InputError,
                       MessageMatches(ContainsSubstring("'source' is a value that every record has")));
}

// What a step writes to the log, which goes to stderr.
std::string log_of(const std::string& step) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "log";
  const int before = dup(STDERR_FILENO), log = open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(log, STDERR_FILENO);
  FakeServices services;
  run_step(step, concur_samples(), services);
  dup2(before, STDERR_FILENO);
  close(log);
  close(before);
  return read_file(file);
}

TEST_CASE("steps warn of a value that no record has and name the nearest") {
  const std::string nearest = "none of 11 records has the value 'speeedup'; did you mean speedup?";
  for (const char* step :
       {"filter, conditions: [{value: speeedup, above: 1}]", "select, best: [highest speeedup]",
        "select, best: [highest speedup], or_when: [{value: speeedup, above: 1}]",
        "select, by: speeedup, best: [highest speedup]", "balance, by: speeedup", "split, by: speeedup",
        "label, label: fast, value: speeedup, classes: [{name: x, above: 1}]",
        "write, file: out.jsonl, form: records, when: [{value: speeedup, above: 1}]"}) {
    INFO(step);
    CHECK_THAT(log_of(step), ContainsSubstring(nearest));
  }
  CHECK_THAT(log_of("balance, by: task, shares: [{name: a}, {name: b, share: 3}, {name: none, share: 12}]"),
             ContainsSubstring("'none' (75.00 %), which have shares: only "));
  CHECK_THAT(log_of("balance, by: reasoning_token"), ContainsSubstring("did you mean reasoning_tokens?"));
  CHECK_THAT(log_of("select, best: [highest speedup]"), !ContainsSubstring("has the value"));
}

std::vector<Record> labelled(const std::vector<std::pair<std::string, int>>& classes) {
  std::vector<Record> records;
  for (const auto& [name, count] : classes)
    for (int i = 0; i < count; ++i) {
      records.push_back(sample(concat(name, i), concat(name, i), 1, 1));
      records.back().labels["size"] = name;
    }
  return records;
}

std::map<std::string, int> counts_of(const StepResult& result, const std::string& label) {
  std::map<std::string, int> counts;
  for (const Record& record : result.records) ++counts[record.labels.at(label)];
  return counts;
}

TEST_CASE("balance keeps as many records as the rarest class allows") {
  FakeServices services;
  const auto records = labelled({{"multi", 50}, {"single", 7}});
  CHECK(counts_of(run_step("balance, by: size", records, services), "size") ==
        std::map<std::string, int>{{"multi", 8}, {"single", 7}});  // 15: the odd one goes to the first class
  CHECK(counts_of(run_step("balance, by: size, records: 10", records, services), "size") ==
        std::map<std::string, int>{{"multi", 5}, {"single", 5}});
  // 7 of `single` as a quarter: 28 or 29 in all, of which 21 or 22 of the other.
  const StepResult given = run_step(
      "balance, by: size, shares: [{name: single, share: 1}, {name: multi, share: 3}]", records, services);
  CHECK(counts_of(given, "size") == std::map<std::string, int>{{"multi", 22}, {"single", 7}});
  CHECK(given.dropped.size() == 28);
  CHECK(given.dropped.begin()->second == "above the share of its size");
  const StepResult one = run_step("balance, by: size, shares: [{name: single}]", records, services);
  CHECK(one.dropped.at("multi3") == "its size has no share");
}

TEST_CASE("balance with the published mix of lengths follows it by largest remainder") {
  FakeServices services;
  const auto records = labelled({{"1", 40}, {"2", 300}, {"3", 60}, {"4", 30}, {"5", 30}});
  const StepResult mix = run_step(
      "balance, by: size, records: 200, shares: [{name: '1', share: 3.40}, {name: '2', share: 83.77}, "
      "{name: '3', share: 7.62}, {name: '4', share: 2.80}, {name: '5', share: 1.23}]",
      records, services);
  // Of 98.82: 6.88, 169.54, 15.42, 5.67, 2.49, so that 1, 4 and 2 are rounded up.
  CHECK(counts_of(mix, "size") ==
        std::map<std::string, int>{{"1", 7}, {"2", 170}, {"3", 15}, {"4", 6}, {"5", 2}});
}

TEST_CASE("balance chooses by seed and name, not by order") {
  FakeServices services;
  std::vector<Record> records = labelled({{"a", 40}, {"b", 10}});
  const auto chosen = [&](const std::string& seed) {
    const Ids ids = run_step("balance, by: size, seed: " + seed, records, services).ids();
    return std::set<std::string>(ids.begin(), ids.end());
  };
  const auto first = chosen("1");
  CHECK(chosen("2") != first);
  std::reverse(records.begin(), records.end());
  CHECK(chosen("1") == first);
}

TEST_CASE("split puts a task and its variants on one side, whatever else there is") {
  FakeServices services;
  std::vector<Record> records;
  for (int task = 0; task < 400; ++task)
    for (int i = 0; i < 3; ++i) {
      records.push_back(sample(concat("t", task, "#", i), concat("t", task, i == 2 ? "+1" : ""), 1, 1));
      if (i == 2) records.back().labels["original_task"] = concat("t", task);
    }
  const std::string step = "split, parts: [{name: train, share: 3}, {name: test, share: 1}], seed: 5";
  const StepResult result = run_step(step, records, services);
  REQUIRE(result.records.size() == 1200);
  std::map<std::string, std::set<std::string>> parts;
  for (const Record& record : result.records) parts[record.original_task()].insert(record.labels.at("split"));
  int test = 0;
  for (const auto& [task, names] : parts) {
    CHECK(names.size() == 1);
    test += names.contains("test");
  }
  // 400 draws with probability 1/4: 100, deviation 8.7.
  CHECK(test > 65);
  CHECK(test < 135);
  const std::vector<Record> few(records.begin() + 300, records.begin() + 330);
  for (const Record& record : run_step(step, few, services).records)
    CHECK(record.labels.at("split") == result.at(record.id).labels.at("split"));
}

TEST_CASE("split refuses parts without a share and names that come twice") {
  FakeServices services;
  CHECK_THROWS_MATCHES(run_step("split, parts: [{name: a, share: 0}]", concur_samples(), services),
                       InputError, MessageMatches(ContainsSubstring("above 0")));
  CHECK_THROWS_MATCHES(run_step("split, parts: [{name: a}, {name: a}]", concur_samples(), services),
                       InputError, MessageMatches(ContainsSubstring("already")));
}

TEST_CASE("label of difficulty follows the average reasoning length of a task") {
  FakeServices services;
  // Averages: A 3,999 (easy), B 4,000 and C 8,500 (the bounds themselves: medium), D 8,501 (hard).
  std::vector<Record> records = {sample("a1", "A", 1, 1000), sample("a2", "A", 1, 6998),
                                 sample("b1", "B", 1, 4000), sample("c1", "C", 1, 9000),
                                 sample("c2", "C", 1, 8000), sample("d1", "D", 1, 8501)};
  records.push_back(sample("e1", "E", 1, 1));
  records.back().figures.erase("reasoning_tokens");
  records.push_back(sample("c3", "C", 1, 1));  // without reasoning: no part of the average, but of the task
  records.back().figures.erase("reasoning_tokens");
  const StepResult result = run_step(
      "label, label: difficulty, value: reasoning_tokens, average_over: task, otherwise: medium, "
      "classes: [{name: easy, below: 4000}, {name: hard, above: 8500}]",
      records, services);
  CHECK(result.records.size() == 8);
  const auto difficulty = [&](const char* id) { return result.at(id).labels.at("difficulty"); };
  CHECK(difficulty("a1") == "easy");
  CHECK(difficulty("a2") == "easy");
  CHECK(difficulty("b1") == "medium");
  CHECK(difficulty("c1") == "medium");
  CHECK(difficulty("c3") == "medium");
  CHECK(difficulty("d1") == "hard");
  CHECK(result.at("a1").figures.at("average_reasoning_tokens") == 3999);
  CHECK_FALSE(result.at("e1").labels.contains("difficulty"));
}

TEST_CASE("label of a record's own value needs no average") {
  FakeServices services;
  std::vector<Record> records = {sample("one", "A", 1, 1), sample("two", "B", 1, 1)};
  records[0].operators = {"relu"};
  records[1].operators = {"relu", "mul"};
  const StepResult result = run_step(
      "label, label: kind, value: operators, classes: [{name: single, at_most: 1}, {name: multi, above: 1}]",
      records, services);
  CHECK(result.at("one").labels.at("kind") == "single");
  CHECK(result.at("two").labels.at("kind") == "multi");
}

TEST_CASE("count_tokens counts by a tokenizer, or by characters") {
  FakeServices services;
  std::vector<Record> records = {sample("a", "A", 1, 1)};
  records[0].figures.clear();
  records[0].answer.reasoning = std::string(401, 'x');
  StepResult result = run_step("count_tokens", records, services);
  CHECK(result.at("a").figures == std::map<std::string, double>{{"reasoning_tokens", 101}});
  records[0].answer.program = "aa";
  result = run_step(concat("count_tokens, tokenizer: ", testing::source_path("configs/quickstart").string()),
                    records, services);
  CHECK(result.at("a").figures.at("reasoning_tokens") < 402);
  CHECK(result.at("a").figures.at("program_tokens") <= 2);
  records[0].figures["reasoning_tokens"] = 7;  // a figure of whoever wrote it stays
  CHECK(run_step("count_tokens", records, services).at("a").figures.at("reasoning_tokens") == 7);
}

// A reader of trees by the code's text: its letters are the text without names, its words the features.
struct WordServices : FakeServices {
  WordServices() {
    codes = FakeCodeReader([](const nlohmann::json& request) {
      const std::string code = request.at("code");
      if (code.find("broken") != code.npos) return nlohmann::json{{"broken", "SyntaxError"}};
      std::string text;
      nlohmann::json features = nlohmann::json::array();
      for (const char c : code) {
        if (!isdigit(c) || request.at("shapes")) text += c;
        features.push_back(static_cast<unsigned>(c));
      }
      return nlohmann::json{{"text", text}, {"features", features}};
    });
  }
};

Record with_code(const std::string& id, const std::string& code, const std::string& program = "") {
  Record record = sample(id, id.substr(0, 1), 1, 1);
  record.pytorch_code = code;
  record.answer.program = program;
  return record;
}

TEST_CASE("deduplicate drops what repeats another task") {
  WordServices services;
  const std::vector<Record> records = {with_code("a1", "f(4, abcdefgh)"), with_code("a2", "f(4, abcdefgh)"),
                                       with_code("b1", "f(4, abcdefgh)"), with_code("c1", "f(5, abcdefgh)"),
                                       with_code("d1", "f(4, abcdefgx)"), with_code("e1", "broken")};
  CHECK(run_step("deduplicate, likeness: exact", records, services).ids() ==
        Ids{"a1", "a2", "c1", "d1", "e1"});
  const StepResult normalised = run_step("deduplicate", records, services);
  CHECK(normalised.ids() == Ids{"a1", "a2", "d1"});
  CHECK(normalised.dropped.at("e1") == "cannot be parsed");
  CHECK(run_step("deduplicate, shapes: match", records, services).ids() == Ids{"a1", "a2", "c1", "d1"});
  // 13 of 14 features are shared: 0.93.
  CHECK(run_step("deduplicate, likeness: tree", records, services).ids() == Ids{"a1", "a2"});
  CHECK(run_step("deduplicate, likeness: tree, similarity: 0.95", records, services).ids() ==
        Ids{"a1", "a2", "d1"});
}

TEST_CASE("words of a program leave out Python's comments in Python and C's in CUDA sources") {
  using Words = std::vector<std::string>;
  CHECK(program_words("n = a // 2  # half\nm = 3") == Words{"n", "=", "a", "/", "/", "2", "m", "=", "3"});
  CHECK(program_words("n = a #half\n") == Words{"n", "=", "a"});
  CHECK(program_words("u = 'http://a' # b") == Words{"u", "=", "'", "http", ":", "/", "/", "a", "'"});
  CHECK(program_words("'''\n# define N 4 // four\nint i; /* one\ntwo */'''  # end") ==
        Words{"'''", "#", "define", "N", "4", "int", "i", ";", "'''"});
  CHECK(program_words("r\"\"\"// all\"\"\" + n") == Words{"r", "\"\"\"", "\"\"\"", "+", "n"});
  CHECK(program_words("'''f(\"a // b\");'''") == Words{"'''", "f", "(", "\"a // b\"", ")", ";", "'''"});
  CHECK(program_words("'it\\'s # one' # two").back() == "'");
  CHECK(program_words("'open\nx # y") == Words{"'", "open", "x"});
}

TEST_CASE("deduplicate of answers compares programs of one task alone") {
  WordServices services;
  const std::string kernel =
      "import torch\nSOURCE = '''\n#define N 4\nvoid f(float* x, int n) { x[0] = 1.0f; }\n'''\n";
  const std::string spaced =
      "import torch  # as always\nSOURCE = '''\n#define N 4\n// one\nvoid f(float *x, int n) {\n  x[0] = "
      "1.0f; /* two */\n}\n'''\n";
  const std::string other_define =
      "import torch\nSOURCE = '''\n#define N 8\nvoid f(float* x, int n) { x[0] = 1.0f; }\n'''\n";
  const std::vector<Record> records = {with_code("a1", "f", kernel), with_code("a2", "f", spaced),
                                       with_code("a3", "f", kernel), with_code("a4", "f", other_define),
                                       with_code("b1", "g", kernel)};
  CHECK(run_step("deduplicate, of: answer, likeness: exact", records, services).ids() ==
        Ids{"a1", "a2", "a4", "b1"});
  CHECK(run_step("deduplicate, of: answer", records, services).ids() == Ids{"a1", "a4", "b1"});
  CHECK(run_step("deduplicate, of: answer, likeness: tree, similarity: 0.75", records, services).ids() ==
        Ids{"a1", "b1"});
}

}  // namespace
}  // namespace bicrl::curation
