// The reference in its box: secret draws, expected outputs, faults of tasks, and the bounds.
#include "sandbox/oracle.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>

#include "sandbox/judge.h"
#include "tests/sandbox/service_support.h"

namespace bicrl {
namespace {

OracleOptions options_with(double wall_s) {
  OracleOptions o;
  o.max_input_bytes = 8u << 20;
  o.wall_s = wall_s;
  o.shifted_draws = true;
  o.memory_bytes = 1ull << 30;
  return o;
}

const PythonInstall& python() {
  static const PythonInstall found = PythonInstall::find(BICRL_TEST_PYTHON);
  return found;
}

// Patient, so that what goes wrong has another cause than a busy machine.
Oracle& oracle() {
  static Oracle instance(testing::box_host(), python(), options_with(600));
  return instance;
}

std::string task(const std::string& forward, const std::string& inputs, const std::string& init = "") {
  return "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
         "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n" +
         (init.empty() ? std::string() : "        " + init + "\n") + "    def forward(self, x):\n        " +
         forward + "\ndef get_inputs():\n    return " + inputs + "\ndef get_init_inputs():\n    return []\n";
}

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / 4);
  memcpy(values.data(), bytes.data(), values.size() * 4);
  return values;
}

std::string fault_of(const std::string& code, Oracle& of = oracle()) {
  const auto opened = of.open(code, 3);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().task_fault);
  return opened->failure().reason;
}

TEST_CASE(
    "draws are the reference's answers on inputs that differ from draw to draw and from start to start") {
  const std::string code = task("return torch.relu(x) + 1", "[torch.randn(4, 8)]");
  const auto opened = oracle().open(code, 3);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  REQUIRE(answers->draws.size() == 5);
  CHECK(opened->spec()->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{4, 8});
  CHECK(answers->returned["shape"] == nlohmann::json({4, 8}));
  CHECK(answers->eager_ms > 0);
  int shifted = 0;
  for (size_t d = 0; d < answers->draws.size(); ++d) {
    const auto& draw = answers->draws[d];
    shifted += draw.family == "shifted";
    const auto x = floats(draw.inputs.at(0)), y = floats(draw.expected.at(0));
    REQUIRE(x.size() == 32);
    for (size_t i = 0; i < x.size(); ++i) CHECK(y[i] == std::max(x[i], 0.0f) + 1);
    if (d) CHECK(x != floats(answers->draws[0].inputs[0]));
    REQUIRE(draw.reference_error.has_value());
    CHECK(*draw.reference_error < 1e-3);
  }
  CHECK(shifted >= 1);
  CHECK(oracle().open(code, 3) == opened);
  oracle().forget(code);
  const auto anew = oracle().open(code, 3)->answers();
  REQUIRE(anew);
  CHECK(anew->draws[0].inputs != answers->draws[0].inputs);
}

TEST_CASE("inputs keep dtypes, strides and numbers, outputs come contiguous") {
  const std::string code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, i, n, b):\n"
      "        return x.t() * n, {'k': i + 1}, b\n"
      "def get_inputs():\n    return [torch.randn(3, 5).t(), torch.randint(0, 9, (4,)), 2.5, torch.rand(2) > "
      "0.5]\n"
      "def get_init_inputs():\n    return []\n";
  const auto opened = oracle().open(code, 2);
  const auto answers = opened->answers();
  INFO(opened->failure().reason);
  REQUIRE(answers);
  const auto spec = opened->spec();
  CHECK(spec->inputs[0]["strides"] == nlohmann::json({1, 5}));
  CHECK(spec->inputs[2] == nlohmann::json({{"t", "float"}, {"v", 2.5}}));
  CHECK(spec->inputs[3]["dtype"] == "bool");
  CHECK(answers->returned["t"] == "tuple");
  CHECK(answers->returned["items"][1]["keys"] == nlohmann::json({"k"}));
  const auto x = floats(answers->draws[0].inputs[0]), y = floats(answers->draws[0].expected[0]);
  REQUIRE(x.size() == 15);
  for (size_t i = 0; i < 15; ++i) CHECK(y[i] == x[i] * 2.5f);
  for (const auto& draw : answers->draws) CHECK(draw.family == "published");
}

TEST_CASE("a shifted draw is left out where the reference does not stay finite") {
  const auto opened = oracle().open(task("return torch.log(1 - x)", "[torch.rand(64) * 0.5]"), 3);
  const auto answers = opened->answers();
  REQUIRE(answers);
  for (const auto& draw : answers->draws) CHECK(draw.family == "published");
}

TEST_CASE("faults of a task name their cause and are not the candidate's") {
  CHECK(fault_of("def x(:\n").find("SyntaxError") != std::string::npos);
  CHECK(fault_of("x = 1\n").find("does not define Model") != std::string::npos);
  CHECK(fault_of(task("return x.no_such()", "[torch.randn(2)]")).find("forward() raises AttributeError") !=
        std::string::npos);
  CHECK(fault_of(task("return x", "1/0")).find("get_inputs() raises ZeroDivisionError") != std::string::npos);
  CHECK(fault_of(task("return x + torch.rand(2)", "[torch.randn(2)]")).find("not deterministic") !=
        std::string::npos);
  CHECK(
      fault_of(task("return x", "[torch.randn(int(torch.randint(2, 100000, (1,))))]")).find("other shapes") !=
      std::string::npos);
  CHECK(fault_of(task("return 3", "[torch.randn(2)]")).find("no tensor") != std::string::npos);
  CHECK(fault_of(task("import os; os._exit(0)", "[torch.randn(2)]")).find("ended its process") !=
        std::string::npos);
  CHECK(fault_of(task("import ctypes; ctypes.string_at(0)", "[torch.randn(2)]")).find("crashed") !=
        std::string::npos);
  const std::string memory = fault_of(task("return torch.ones(10**12)", "[torch.randn(2)]"));
  INFO(memory);
  CHECK(memory.find("memory") != std::string::npos);
}

TEST_CASE("inputs over the limit are described without being drawn") {
  const auto opened = oracle().open(task("return x", "[torch.randn(100000, 100000)]"), 3);
  const auto spec = opened->spec();
  REQUIRE(spec);
  CHECK(spec->too_large_bytes == 40000000000ull);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().reason.find("MiB") != std::string::npos);
}

TEST_CASE("a reference that hangs ends at its limit") {
  static Oracle impatient(testing::box_host(), python(), options_with(1));
  const std::string code = task("import time; time.sleep(1000); return x", "[torch.randn(2)]");
  CHECK(fault_of(code, impatient).find("longer") != std::string::npos);
}

TEST_CASE("tasks that name a GPU run on the CPU") {
  const auto opened =
      oracle().open(task("return self.p.cuda() * x.to('cuda')", "[torch.randn(4, device='cuda')]",
                         "self.p = torch.ones(4, device='cuda')"),
                    2);
  INFO(opened->failure().reason);
  CHECK(opened->answers());
}

}  // namespace
}  // namespace bicrl
