// Steps that make and change tasks, in boxes: compose, augment, fit_to_time, list_operators, check_compile.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "common/files/files.h"
#include "curation/code/operator_catalogue.h"
#include "tests/curation/box_services.h"
#include "tests/curation/pipelines.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using Catch::Matchers::WithinRel;

std::string task_of(const std::string& init, const std::string& forward, const std::string& inputs,
                    const std::string& numbers = "") {
  return concat(
      "import torch\nimport torch.nn as nn\n", numbers,
      "\nclass Model(nn.Module):\n    def __init__(self, *sizes):\n        super().__init__()\n        ",
      init, "\n    def forward(self, *xs):\n        x = xs[0]\n        ", forward,
      "\ndef get_inputs():\n    return [", inputs, "]\n");
}

Record task(const std::string& id, const std::string& code) {
  Record record = sample(id, id, 1, 50);
  record.pytorch_code = code;
  record.answer.program = "program of " + id;
  return record;
}

TEST_CASE("augment makes variants with other input sizes that still run") {
  BoxServices services;
  Record linear =
      task("linear", task_of("self.layer = nn.Linear(*sizes)", "return self.layer(x)", "torch.randn(6, 10)") +
                         "def get_init_inputs():\n    return [10, 5]\n");
  linear.verdict = Verdict{};
  linear.answer.prompt = "Rewrite " + linear.pytorch_code;
  linear.answer.response = "program of linear";
  linear.labels = {{"uuid", "u"}, {"problem_id", "3"}, {"published_task_id", "4"}, {"repo_name", "r"}};
  const Record fixed = task("fixed", task_of("pass", "return x.reshape(2, 3) * 2", "torch.randn(3, 2)"));
  const StepResult result =
      run_step("augment, variants: 3, factors: ['2', '0.5']", {linear, fixed}, services);
  // Of the linear layer both numbers of features change together, or the rows alone.
  REQUIRE(result.ids() == std::vector<std::string>{"linear", "linear+1", "linear+2", "linear+3", "fixed"});
  std::set<std::string> shapes;
  for (const std::string id : {"linear+1", "linear+2", "linear+3"}) {
    const Record& variant = result.at(id);
    const std::string made = variant.labels.at("shapes");
    CHECK(shapes.insert(made).second);
    CHECK(made != "[[6,10]]");
    const auto sizes = nlohmann::json::parse(made)[0];
    CHECK_THAT(variant.pytorch_code, ContainsSubstring(concat("randn(", sizes[0], ", ", sizes[1], ")")));
    CHECK_THAT(variant.pytorch_code, ContainsSubstring(concat("[", sizes[1], ", ")));
    CHECK(variant.parent == "linear");
    CHECK(variant.original_task() == "linear");
    CHECK(variant.task_id == id);
    CHECK(variant.answer.program == "program of linear");
    CHECK_FALSE(variant.verdict);
    CHECK(variant.answer.prompt.empty());
    CHECK(variant.answer.response.empty());
    for (const char* id_of_original : {"uuid", "problem_id", "published_task_id"})
      CHECK_FALSE(variant.labels.contains(id_of_original));
    CHECK(variant.labels.at("repo_name") == "r");
    CHECK(variant.figures == std::map<std::string, double>{{"reasoning_tokens", 50}});
  }
  CHECK(result.at("linear").verdict);
  // reshape(2, 3) takes six elements, which no change of one size leaves.
}

TEST_CASE(
    "augment keeps the variants that fit beside one that does not, and the record of a task that failed") {
  BoxServices boxes;
  // A thousand times as many rows or columns are 8 GiB.
  const Record large = task("large", task_of("pass", "return x * 2", "torch.randn(65536, 32)"));
  CHECK(run_step("augment, variants: 4, factors: ['1024', '0.5']", {large}, boxes).ids() ==
        std::vector<std::string>{"large", "large+1", "large+2"});
  FakeServices services;
  services.codes = FakeCodeReader([](const nlohmann::json&) {
    return nlohmann::json{{"failed", "it needs more memory than the limit"}, {"kind", "too_large"}};
  });
  const StepResult result = run_step("augment", {large}, services);
  CHECK(result.ids() == std::vector<std::string>{"large"});
  CHECK(result.dropped.empty());
}

TEST_CASE("augment keeps the sizes of costed inputs in step") {
  BoxServices services;
  const std::string code = task_of("self.w = nn.Parameter(torch.ones(columns))", "return x * self.w",
                                   "torch.randn(4, columns)", "columns = 6\n") +
                           "def get_costing_inputs():\n    return [torch.randn(100, 6)]\n";
  const StepResult result =
      run_step("augment, variants: 4, factors: ['2']", {task("scaled", code)}, services);
  // Doubling `columns` alone would leave costed inputs of six columns, which the weights do not take.
  for (const Record& record : result.records)
    if (record.pytorch_code.find("columns = 12") != std::string::npos)
      CHECK_THAT(record.pytorch_code, ContainsSubstring("(100, 12)"));
  CHECK(result.records.size() >= 2);
}

TEST_CASE("fit_to_time doubles sizes until the modelled time is in the window") {
  BoxServices services;
  // relu reads and writes 64,000 numbers of four bytes: 0.512 ms at 1 GB/s. Two doublings are needed for 1.5
  // ms.
  const Record relu = task("relu", task_of("pass", "return torch.relu(x)", "torch.randn(64, 1000)"));
  // A product of 256 x 256 matrices: 2 * 256^3 operations, 0.0336 ms at 1 TFLOP/s.
  const Record matrix =
      task("matrix", task_of("pass", "return x @ xs[1]", "torch.randn(256, 256), torch.randn(256, 256)"));
  const Record fixed = task("fixed", task_of("pass", "return x.reshape(2, 3) * 2", "torch.randn(3, 2)"));
  const StepResult result =
      run_step("fit_to_time, least_ms: 1.5, most_ms: 3, bandwidth_gb_s: 1, tflops: 1000, launch_us: 0",
               {relu, fixed}, services);
  CHECK(result.ids() == std::vector<std::string>{"relu"});
  CHECK_THAT(result.at("relu").figures.at("eager_ms"), WithinRel(2.048, 1e-9));
  CHECK_THAT(result.at("relu").pytorch_code, ContainsSubstring("torch.randn(256, 1000)"));
  CHECK(result.dropped.at("fixed") == "cannot be enlarged");
  const StepResult computed =
      run_step("fit_to_time, least_ms: 0.01, most_ms: 1, bandwidth_gb_s: 100000, tflops: 1, launch_us: 0",
               {matrix}, services);
  CHECK_THAT(computed.at("matrix").figures.at("eager_ms"), WithinRel(2 * 256.0 * 256 * 256 / 1e9, 1e-9));
  const StepResult launched =
      run_step("fit_to_time, least_ms: 0.001, most_ms: 1, launch_us: 50, tflops: 1e9, bandwidth_gb_s: 1e9",
               {relu}, services);
  CHECK_THAT(launched.at("relu").figures.at("eager_ms"), WithinRel(0.05, 1e-3));
  CHECK(run_step("fit_to_time, least_ms: 0.1, most_ms: 0.4, bandwidth_gb_s: 1", {relu}, services)
            .dropped.at("relu") == "takes too long");
}

TEST_CASE("fit_to_time takes no size whose indices are out of range on data") {
  BoxServices services;
  // Twice the rows would be twice the indices into a table of 1,000: without data nothing shows that.
  const std::string table = "self.table = nn.Embedding(1000, 4)", rows = "rows = 600\n";
  const Record stuck =
      task("stuck", task_of(table, "return self.table(x)", "torch.randint(0, rows, (rows,))", rows));
  const Record grows =
      task("grows", task_of(table, "return self.table(x)", "torch.randint(0, rows, (rows, 2))", rows));
  // Of `grows` 9,600 bytes of indices, 16,000 of the table and 19,200 of the answer at 1 GB/s: 0.0448 ms.
  const StepResult result = run_step(
      "fit_to_time, least_ms: 0.06, most_ms: 0.1, bandwidth_gb_s: 1, launch_us: 0", {stuck, grows}, services);
  CHECK(result.ids() == std::vector<std::string>{"grows"});
  CHECK_THAT(result.at("grows").pytorch_code, ContainsSubstring("(rows, 4)"));
  CHECK_THAT(result.at("grows").figures.at("eager_ms"), WithinRel(0.0736, 1e-9));
  CHECK(result.dropped.at("stuck") == "cannot be enlarged");
}

TEST_CASE("list_operators names what runs below autograd and leaves known names") {
  BoxServices services;
  const Record block = task(
      "block", task_of("self.layer = nn.Conv2d(3, 8, 3)",
                       "return torch.relu(self.layer(x)).flatten(1).mean(1)", "torch.randn(2, 3, 8, 8)"));
  Record known = task("known", "not Python at all");
  known.operators = {"something"};
  const Record broken = task("broken", task_of("pass", "return x + undefined", "torch.randn(2)"));
  const StepResult result = run_step("list_operators", {block, known, broken}, services);
  CHECK(result.at("block").operators == std::vector<std::string>{"convolution", "relu", "mean"});
  CHECK(result.at("known").operators == std::vector<std::string>{"something"});
  CHECK(result.dropped.at("broken") == "not examined: raises");
}

TEST_CASE(
    "check_compile drops tasks that answer otherwise when compiled and holds a compiler for inductor alone") {
  BoxServices services;
  const std::vector<Record> tasks = {
      task("sound",
           task_of("self.layer = nn.Linear(4, 3)", "return torch.tanh(self.layer(x))", "torch.randn(2, 4)")),
      task("other",
           task_of("pass", "return x + 1 if torch.compiler.is_compiling() else x - 1", "torch.randn(2, 4)")),
      task("starter", task_of("import subprocess; subprocess.run(['/usr/bin/true'], check=True)",
                              "return x + 1", "torch.randn(2, 4)"))};
  const StepResult lowered = run_step("check_compile", tasks, services);
  CHECK(lowered.ids() == std::vector<std::string>{"sound"});
  CHECK(lowered.dropped.at("other") == "torch.compile refuses it");
  CHECK(lowered.dropped.at("starter") == "not examined: crash");
  const StepResult generated = run_step("check_compile, backend: inductor", tasks, services);
  CHECK(generated.ids() == std::vector<std::string>{"sound", "starter"});
  CHECK(generated.dropped.at("other") == "torch.compile refuses it");
}

// Asks boxes directly for a task of one row each.
TEST_CASE("every operator of the catalogue makes a task by itself") {
  const std::vector<CatalogueOperator> rows =
      read_catalogue(bicrl::testing::source_path("curation/runtimes/operator_catalogue.txt"));
  CHECK(rows.size() >= 150);
  BoxServices services;
  std::map<std::string, int> libraries;
  size_t asked = 0, done = 0;
  while (done < rows.size()) {
    for (; asked < rows.size() && asked - done < 8; ++asked)
      services.boxes.submit(&rows, asked,
                            {{"kind", "compose"}, {"seed", 3}, {"places", {{to_json(rows[asked])}}}});
    const auto answer = services.boxes.next(&rows, Milliseconds(1000));
    if (!answer) continue;
    ++done;
    const CatalogueOperator& row = rows[answer->number];
    INFO(row.name << " " << answer->value.dump());
    CHECK(answer->value.contains("code"));
    const bool is_function = row.name.starts_with("torch.nn.functional.");
    ++libraries[is_function ? "functional" : row.name.starts_with("torch.nn.") ? "nn" : "torch"];
  }
  CHECK(libraries["torch"] >= 50);
  CHECK(libraries["nn"] >= 50);
  CHECK(libraries["functional"] >= 30);
}

TEST_CASE("compose makes tasks of as many operators as it says, the same for a seed") {
  BoxServices services;
  const std::string step =
      "compose, tasks: 12, lengths: [{name: '2', share: 1}, {name: '4', share: 1}], source: made, seed: ";
  const StepResult one = run_step(step + "4", {sample("earlier", "earlier", 1, 1)}, services);
  REQUIRE(one.records.size() > 8);
  CHECK(one.records.size() + one.dropped.size() == 13);
  CHECK(one.records.front().id == "earlier");
  std::vector<Record> made(one.records.begin() + 1, one.records.end());
  std::set<size_t> lengths;
  for (const Record& record : made) {
    lengths.insert(record.operators.size());
    size_t calls = 0;
    for (size_t at = 0; (at = record.pytorch_code.find("\n        x = ", at)) != std::string::npos; ++at)
      ++calls;
    CHECK(calls == record.operators.size());
    CHECK(record.level == static_cast<int>(calls));
  }
  CHECK(lengths == std::set<size_t>{2, 4});
  const StepResult again = run_step(step + "4", {sample("earlier", "earlier", 1, 1)}, services);
  REQUIRE(again.records.size() == one.records.size());
  for (size_t i = 0; i < made.size(); ++i) CHECK(again.records[i + 1].pytorch_code == made[i].pytorch_code);
  CHECK(run_step(step + "5", {sample("earlier", "earlier", 1, 1)}, services).records[1].pytorch_code !=
        made.front().pytorch_code);
  CHECK_THROWS_MATCHES(run_step("compose, lengths: [{name: '7'}]", {sample("a", "a", 1, 1)}, services),
                       InputError, MessageMatches(ContainsSubstring("from 1 to 5")));
}

TEST_CASE("catalogue with a broken line is refused with its number") {
  const testing::TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& why) {
    write_file_atomically(folder.path() / "operators.txt", text);
    CHECK_THROWS_MATCHES(read_catalogue(folder.path() / "operators.txt"), InputError,
                         MessageMatches(ContainsSubstring(why)));
  };
  refused("# head\ntorch.abs\n", ":2: needs a name and ranks");
  refused("torch.abs | 0-7\n", "no ranks");
  refused("torch.abs | 1\ntorch.abs | 2\n", ":2: 'torch.abs' is there already");
  refused("abs | 1\n", "begins with its module");
}

}  // namespace
}  // namespace bicrl::curation
