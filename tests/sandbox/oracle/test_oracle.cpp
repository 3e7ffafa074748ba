// The reference in its box: secret test inputs of four kinds, expected outputs and their allowances.
#include "sandbox/oracle/oracle.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <set>

#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using namespace testing;

std::set<std::string> kinds_of(const OracleAnswers& answers, const std::vector<size_t>& chosen) {
  std::set<std::string> kinds;
  for (const size_t index : chosen) kinds.insert(answers.test_inputs.at(index).kind);
  return kinds;
}

const TestInput& first_of(const OracleAnswers& answers, const std::string& kind) {
  for (const auto& test_input : answers.test_inputs)
    if (test_input.kind == kind) return test_input;
  FAIL("no test input of kind " << kind);
  throw std::logic_error("unreachable");
}

double mean(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<float>& values) {
  const double middle = mean(values);
  double sum = 0;
  for (const float v : values) sum += (v - middle) * (v - middle);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_CASE(
    "expected outputs are the reference's answers to inputs that differ between samples and between starts") {
  const std::string code = task_code("return torch.relu(x) + 1", "[torch.randn(4, 8)]");
  const auto opened = patient_oracle().open(code, 4);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  REQUIRE(answers->test_inputs.size() == 8);
  CHECK(opened->spec()->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{4, 8});
  CHECK(answers->returned["shape"] == nlohmann::json({4, 8}));
  CHECK(answers->eager_ms > 0);
  CHECK(answers->trivial_outputs == std::vector<bool>{false});
  CHECK(answers->written_inputs == std::vector<bool>{false});
  CHECK(answers->faults.empty());
  for (size_t d = 0; d < answers->test_inputs.size(); ++d) {
    const auto& test_input = answers->test_inputs[d];
    const auto x = floats(test_input.inputs.at(0)), y = floats(test_input.expected.at(0).center);
    REQUIRE(x.size() == 32);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == static_cast<float>(std::max(double{x[i]}, 0.0) + 1));
    for (const float allowed : floats(test_input.expected[0].allowance)) {
      CHECK(allowed > 0);
      CHECK(allowed < 1e-3f * (1 + 3 * 6 * 5));
    }
    if (d) CHECK(x != floats(answers->test_inputs[0].inputs[0]));
  }
  CHECK(patient_oracle().open(code, 4) == opened);
  patient_oracle().forget(*opened);
  const auto reopened = patient_oracle().open(code, 4);
  const auto anew = reopened->answers();
  REQUIRE(anew);
  CHECK(anew->test_inputs[0].inputs != answers->test_inputs[0].inputs);
  // Whoever comes late with the failure of the first leaves the second alone.
  patient_oracle().forget(*opened);
  CHECK(patient_oracle().open(code, 4) == reopened);
}

TEST_CASE("programs are costed on a plain input sample and one of another kind, both of the larger inputs") {
  const std::string code = task_code("return torch.tanh(x)", "[torch.randn(4, 8)]") +
                           "\ndef get_costing_inputs():\n    return [torch.randn(300, 8)]\n";
  const auto given = patient_oracle().open(code, 4);
  const auto costed = patient_oracle().open(code, 2, TaskSize::kCosted);
  REQUIRE(given->answers());
  const auto answers = costed->answers();
  INFO(costed->failure().reason);
  REQUIRE(answers);
  CHECK(given->spec()->has_costing_inputs);
  CHECK(given->answers()->test_inputs.size() == 8);
  CHECK(given->spec()->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{4, 8});
  CHECK(costed->spec()->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{300, 8});
  REQUIRE(answers->test_inputs.size() == 2);
  CHECK(costed->choose(2) == std::vector<size_t>{0, 1});
  CHECK(answers->test_inputs[0].kind == "plain");
  CHECK(answers->test_inputs[1].kind != "plain");
  const auto x = floats(answers->test_inputs[0].inputs.at(0)),
             y = floats(answers->test_inputs[0].expected.at(0).center);
  REQUIRE(x.size() == 2400);
  REQUIRE(y.size() == 2400);
  for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == static_cast<float>(std::tanh(double{x[i]})));
  CHECK_FALSE(
      patient_oracle().open(task_code("return x + 1", "[torch.randn(4)]"), 4)->spec()->has_costing_inputs);
}

TEST_CASE("each verification holds an input sample of each kind, in rotation") {
  const auto opened = patient_oracle().open(task_code("return torch.tanh(x)", "[torch.randn(64, 64)]"), 4);
  const auto answers = opened->answers();
  REQUIRE(answers);
  std::set<size_t> seen;
  for (int i = 0; i < 5; ++i) {
    const auto chosen = opened->choose(4);
    CHECK(kinds_of(*answers, chosen) == std::set<std::string>{"plain", "shifted", "sparse", "structured"});
    for (size_t t = 1; t < chosen.size(); ++t)
      CHECK(chosen[t] == (chosen[0] + t) % answers->test_inputs.size());
    seen.insert(chosen.begin(), chosen.end());
  }
  CHECK(seen.size() == answers->test_inputs.size());
  // Fewer trials come to every kind in time.
  std::set<std::string> kinds;
  for (int i = 0; i < 4; ++i)
    for (const auto& kind : kinds_of(*answers, opened->choose(1))) kinds.insert(kind);
  CHECK(kinds.size() == 4);
  const auto many = patient_oracle().open(task_code("return torch.tanh(x)", "[torch.randn(64, 64)]"), 11);
  REQUIRE(many->answers());
  const auto chosen = many->choose(11);
  CHECK(std::set<size_t>(chosen.begin(), chosen.end()).size() == 11);
}

TEST_CASE("what the kinds are") {
  const auto opened = patient_oracle().open(task_code("return torch.tanh(x)", "[torch.randn(40, 64)]"), 4);
  const auto answers = opened->answers();
  REQUIRE(answers);
  const auto values = [&](const char* kind) { return floats(first_of(*answers, kind).inputs.at(0)); };
  CHECK(std::abs(mean(values("plain"))) < 0.2);
  CHECK(std::abs(deviation(values("plain")) - 1) < 0.2);
  const auto shifted = values("shifted");
  CHECK(std::abs(mean(shifted)) > 0.5 * deviation(shifted));
  CHECK(std::abs(mean(shifted)) < 3.2 * deviation(shifted));
  const auto sparse = values("sparse");
  const auto zeros = std::count(sparse.begin(), sparse.end(), 0.0f);
  for (const float v : sparse) CHECK((v != 0 || !std::signbit(v)));
  CHECK(zeros > 40 * 64 * 0.6);
  CHECK(zeros < 40 * 64);
}

TEST_CASE("a structured input sample holds rows of every pattern") {
  const auto opened =
      patient_oracle().open(task_code("return torch.softmax(x, -1)", "[torch.randn(44, 64)]"), 4);
  const auto answers = opened->answers();
  REQUIRE(answers);
  for (const TestInput& test_input : answers->test_inputs) {
    if (test_input.kind != "structured") continue;
    const auto x = floats(test_input.inputs.at(0));
    std::map<std::string, int> rows;
    double largest_tile_end = 0;
    for (size_t r = 0; r < 44; ++r) {
      std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * 64),
                             x.begin() + static_cast<std::ptrdiff_t>(r * 64 + 64));
      const auto all = [&](auto holds) { return std::all_of(row.begin(), row.end(), holds); };
      const auto size = [](float v) { return std::abs(v); };
      double tile_ends = 0;  // the largest of the four, and of the other sixty
      for (size_t i = 15; i < 64; i += 16) tile_ends = std::max<double>(tile_ends, size(row[i]));
      double between = 0;
      for (size_t i = 0; i < 64; ++i)
        if (i % 16 != 15) between = std::max<double>(between, size(row[i]));
      double sizes = 0;
      for (const float v : row) sizes += size(v) / 64;
      const bool equal = all([&](float v) { return v == row[0]; });
      const bool halves = all([](float v) { return v * 2 == std::round(v * 2); });
      std::sort(row.begin(), row.end());
      rows["zero"] += row[0] == 0 && equal;
      rows["equal"] += row[0] != 0 && equal;
      rows["negative"] += row[63] < 0 && row[63] > -5 && row[0] > -8 && !equal;
      rows["tiny"] += sizes > 0 && sizes < 1e-2;
      rows["far"] += row[0] > 2.5 && !equal;
      rows["far below"] += row[63] < -5 && row[0] < -15;
      rows["above"] += row[63] > 23 && row[62] < 6;
      rows["below"] += row[0] < -23 && row[1] > -6;
      rows["wide"] += !halves && sizes > 1.8 && row[0] < -3.5 && row[63] > 3.5 && row[63] < 22;
      rows["halves"] += halves && !equal && size(row[0]) < 20;
      const bool tiles = sizes > 1e-2 && between < 0.6 && !equal;  // a tenth of what the task draws
      rows["tiles"] += tiles;
      if (tiles) largest_tile_end = std::max(largest_tile_end, tile_ends);
    }
    CHECK(largest_tile_end > 1);
    for (const auto& [pattern, count] : rows) {
      INFO(pattern);
      CHECK(count == 4);
    }
  }
}

TEST_CASE("constructors' arguments arrive as they were") {
  testing::run_python(testing::source_path("tests/sandbox/recorder/arguments_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("structured input samples are cut where the reference's answers come apart") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/patterns_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("input samples keep the invariants of a task's inputs") {
  const std::string code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n"
      "    def forward(self, t, s, p, q, m, n):\n"
      "        return t @ t.t(), torch.searchsorted(s, q), -(q * p.clamp_min(1e-9).log()).sum(-1), m + n\n"
      "def get_inputs():\n"
      "    return [torch.triu(torch.randn(8, 8)), torch.sort(torch.randn(8))[0],\n"
      "            torch.softmax(torch.randn(6, 8), -1), torch.rand(6, 8), (torch.rand(8) > 0.5).float(),\n"
      "            torch.randint(0, 9, (8,))]\n"
      "def get_init_inputs():\n    return []\n";
  const auto opened = patient_oracle().open(code, 4);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  for (const auto& test_input : answers->test_inputs) {
    const auto t = floats(test_input.inputs.at(0)), s = floats(test_input.inputs.at(1)),
               p = floats(test_input.inputs.at(2)), q = floats(test_input.inputs.at(3)),
               m = floats(test_input.inputs.at(4));
    for (size_t r = 0; r < 8; ++r)
      for (size_t c = 0; c < r; ++c) CHECK(t[r * 8 + c] == 0);
    CHECK(std::is_sorted(s.begin(), s.end()));
    for (size_t r = 0; r < 6; ++r) {
      double sum = 0;
      for (size_t c = 0; c < 8; ++c) sum += p[r * 8 + c];
      CHECK(std::abs(sum - 1) < 1e-4);
    }
    for (const float v : q) CHECK((v >= 0 && v <= 1));
    for (const float v : m) CHECK((v == 0 || v == 1));
  }
}

TEST_CASE("inputs that a task gives alike every time are sampled all the same") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/literals_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("all input samples keep a symmetry or an order that inputs have under every seed") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/structure_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("a small element's own error counts as that of its octave") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/own_error_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("programs whose exp() is off by two units in the last place are correct") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/rounding_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("input samples hold answers that are no numbers where the task's own inputs have them") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/not_finite_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

TEST_CASE("inputs keep dtypes, strides and numbers, outputs come contiguous") {
  const std::string code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, i, n, b):\n"
      "        return x.t() * n, {'k': i + 1}, b\n"
      "def get_inputs():\n    return [torch.randn(3, 5).t(), torch.randint(0, 9, (4,)), 2.5, torch.rand(2) > "
      "0.5]\n"
      "def get_init_inputs():\n    return []\n";
  const auto opened = patient_oracle().open(code, 2);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  const auto spec = opened->spec();
  CHECK(spec->inputs[0]["strides"] == nlohmann::json({1, 5}));
  CHECK(spec->inputs[2] == nlohmann::json({{"t", "float"}, {"v", 2.5}}));
  CHECK(spec->inputs[3]["dtype"] == "bool");
  CHECK(answers->returned["t"] == "tuple");
  CHECK(answers->returned["items"][1]["keys"] == nlohmann::json({"k"}));
  const auto& test_input = answers->test_inputs[0];
  const auto x = floats(test_input.inputs[0]), y = floats(test_input.expected[0].center);
  REQUIRE(x.size() == 15);
  for (size_t i = 0; i < 15; ++i) CHECK(y[i] == x[i] * 2.5f);
  CHECK(test_input.expected[1].center.size() == 32);
  CHECK(test_input.expected[1].allowance == std::string(4, '\0'));
  // The last output is an input.
  CHECK(answers->trivial_outputs == std::vector<bool>{false, false, true});
  CHECK(test_input.expected[2].center == test_input.inputs[2]);
}

TEST_CASE("the allowance is what the formula says") {
  // A sum of 1000 numbers: y64 and its error can be computed here as well.
  const auto opened = patient_oracle().open(task_code("return x.sum(-1)", "[torch.rand(16, 1000)]"), 4);
  const auto answers = opened->answers();
  REQUIRE(answers);
  for (const auto& test_input : answers->test_inputs) {
    const auto x = floats(test_input.inputs[0]), y = floats(test_input.expected[0].center);
    const auto allowed = floats(test_input.expected[0].allowance);
    for (size_t r = 0; r < 16; ++r) {
      double sum = 0;
      float naive = 0;
      for (size_t c = 0; c < 1000; ++c) sum += x[r * 1000 + c], naive += x[r * 1000 + c];
      CHECK(y[r] == static_cast<float>(sum));
      CHECK(std::abs(naive - sum) <= allowed[r]);
      // A structured test input has rows of zeros, and sizes that differ between test inputs.
      if (test_input.kind == "structured") continue;
      // Never above 1e-4 of the size but for what rounding explains, of each term 2^-25 of the sum among it.
      CHECK(allowed[r] < (1.1e-4 * 1.2 + 4 * 1000 * 0x1p-27) * std::abs(sum) + 1e-3);
      // A skipped tile, a dropped last element of a plain test input, nothing at all.
      double tile = 0;
      for (size_t c = 960; c < 1000; ++c) tile += x[r * 1000 + c];
      if (tile != 0) CHECK(std::abs(tile) > allowed[r]);  // of a sparse test input it may be zero
      CHECK(std::abs(sum) > allowed[r]);
    }
  }
}

TEST_CASE("integers may differ where rounding decides") {
  const std::string code = task_code("return torch.floor(x * y).to(torch.int32)",
                                     "[torch.cat([torch.rand(1000) * 0.8 + 0.1, torch.ones(1)]), "
                                     "torch.cat([torch.rand(1000) * 0.1 + 1, torch.ones(1)])]");
  const std::string two =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, y):\n" +
      code.substr(code.find("        return torch.floor"));
  const auto opened = patient_oracle().open(two, 4);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  const auto& plain = first_of(*answers, "plain");
  // floor(1 * 1) with both changed by 2^-22 is 0 or 1; the others are 0 for certain.
  CHECK(plain.expected[0].allowance == std::string(1000, '\0') + '\1');
}

TEST_CASE("parameters that constructors leave at constants are sampled and reported") {
  const std::string code = task_code(
      "return F.layer_norm(x, (32,), self.n.weight, self.n.bias) * self.s + self.e", "[torch.randn(16, 32)]",
      "self.n = nn.LayerNorm(32); self.s = nn.Parameter(torch.ones(1)); self.register_buffer('e', "
      "torch.zeros(1)); self.l = nn.Linear(3, 3)");
  const auto opened = patient_oracle().open(code, 4);
  const auto spec = opened->spec();
  REQUIRE(spec);
  std::vector<std::string> names;
  for (const auto& entry : spec->parameters) names.push_back(entry["name"]);
  CHECK(names == std::vector<std::string>{"s", "n.weight", "n.bias"});
  const auto answers = opened->answers();
  REQUIRE(answers);
  // At the defaults every row's mean would be 0.
  const auto y = floats(answers->test_inputs[0].expected[0].center);
  double away = 0;
  for (size_t c = 0; c < 32; ++c) {
    double column = 0;
    for (size_t r = 0; r < 16; ++r) column += y[r * 32 + c];
    away += std::abs(column / 16);
  }
  CHECK(away / 32 > 0.1);
}

TEST_CASE("a candidate's model gets the oracle's parameter values whatever it calls its parameters") {
  testing::run_python(testing::source_path("tests/sandbox/recorder/parameters_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

}  // namespace
}  // namespace bicrl
