// Tasks that are at fault themselves, with answers and without, and the bounds.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "sandbox/oracle.h"
#include "tests/sandbox/oracle_support.h"
#include "tests/sandbox/service_support.h"

namespace bicrl {
namespace {

using namespace testing;

std::string fault_of(const std::string& code, Oracle& of = patient_oracle()) {
  const auto opened = of.open(code, 4);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().task_fault);
  return opened->failure().kind + ": " + opened->failure().reason;
}

TEST_CASE("draws stay where the reference is finite") {
  const auto opened =
      patient_oracle().open(task_code("return torch.log(1 - x)", "[torch.rand(64) * 0.5]"), 3);
  const auto answers = opened->answers();
  REQUIRE(answers);
  for (const auto& draw : answers->draws)
    for (const float y : floats(draw.expected[0].center)) CHECK(std::isfinite(y));
  // Half of it is not a number on any draw: those elements must be so in every answer.
  const auto partly =
      patient_oracle().open(task_code("return torch.log(x)", "[torch.randn(64, 8)]"), 4)->answers();
  REQUIRE(partly);
  CHECK(partly->faults.empty());
}

TEST_CASE("faults of tasks with answers") {
  const auto kinds = [](const std::string& code) {
    const auto opened = patient_oracle().open(code, 4);
    const auto answers = opened->answers();
    INFO(opened->failure().reason);
    REQUIRE(answers);
    std::set<std::string> found;
    for (const auto& fault : answers->faults) found.insert(fault.kind);
    return found;
  };
  using Set = std::set<std::string>;
  const std::string x = "[torch.randn(16, 64)]";
  CHECK(kinds(task_code("return torch.softmax(x, -1)", x)).empty());
  CHECK(kinds(task_code("return x.argmax(-1)", x)).empty());
  CHECK(kinds(task_code("return x > 0.5", x)).empty());
  CHECK(kinds(task_code("return (x > -1.3).float()", x)).empty());
  CHECK(kinds(task_code("return torch.softmax(x, -1).sum(-1)", x)).contains("saturated"));
  CHECK(kinds(task_code("return torch.isnan(x)", x)).contains("trivial"));
  CHECK(kinds(task_code("return x * 1", x)).contains("trivial"));
  CHECK(
      kinds(task_code("return x.half().float()", x)).contains("trivial"));  // what rounds may stay unrounded
  CHECK(kinds(task_code("return torch.zeros_like(x)", x)) == Set{"blind", "trivial"});
  CHECK(kinds(task_code("return torch.sin(x * 1e9)", x)).contains("fragile"));
  const std::string two =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, y):\n"
      "        return torch.exp(x)\ndef get_inputs():\n    return [torch.randn(9, 9), torch.randn(9)]\n"
      "def get_init_inputs():\n    return []\n";
  CHECK(kinds(two) == Set{"blind"});
}

TEST_CASE("inputs that the reference itself writes to are named") {
  const std::string code =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, y):\n"
      "        y.add_(x)\n        return x * y\ndef get_inputs():\n    return [torch.randn(9), "
      "torch.randn(9)]\n"
      "def get_init_inputs():\n    return []\n";
  const auto answers = patient_oracle().open(code, 4)->answers();
  REQUIRE(answers);
  CHECK(answers->written_inputs == std::vector<bool>{false, true});
  const auto x = floats(answers->draws[0].inputs[0]), y = floats(answers->draws[0].inputs[1]);
  const auto z = floats(answers->draws[0].expected[0].center);
  for (size_t i = 0; i < 9; ++i) CHECK(std::abs(z[i] - x[i] * (x[i] + y[i])) < 1e-5f * (1 + std::abs(z[i])));
}

TEST_CASE("an allowance for TF32 comes if it is asked for") {
  OracleOptions options = oracle_options(600);
  options.tf32 = true;
  static Oracle with_tf32(testing::box_host(), python_install(), options);
  const auto answers = with_tf32.open(task_code("return x @ x.t()", "[torch.randn(32, 64)]"), 4)->answers();
  REQUIRE(answers);
  const auto& leaf = answers->draws[0].expected[0];
  const auto narrow = floats(leaf.allowance), wide = floats(leaf.allowance_tf32);
  REQUIRE(wide.size() == narrow.size());
  for (size_t i = 0; i < wide.size(); ++i) CHECK(wide[i] > 2 * narrow[i]);
}

TEST_CASE("faults of a task name their cause and are not the candidate's") {
  CHECK(fault_of("def x(:\n").find("SyntaxError") != std::string::npos);
  CHECK(fault_of("x = 1\n").find("does not define Model") != std::string::npos);
  CHECK(
      fault_of(task_code("return x.no_such()", "[torch.randn(2)]")).find("forward() raises AttributeError") !=
      std::string::npos);
  CHECK(fault_of(task_code("return x", "1/0")).find("get_inputs() raises ZeroDivisionError") !=
        std::string::npos);
  CHECK(fault_of(task_code("return x + torch.rand(2)", "[torch.randn(2)]")).find("not deterministic") !=
        std::string::npos);
  CHECK(fault_of(task_code("return x", "[torch.randn(int(torch.randint(2, 100000, (1,))))]"))
            .find("other shapes") != std::string::npos);
  CHECK(fault_of(task_code("return 3", "[torch.randn(2)]")).find("no tensor") != std::string::npos);
  CHECK(fault_of(task_code("import os; os._exit(0)", "[torch.randn(2)]")).find("ended its process") !=
        std::string::npos);
  CHECK(fault_of(task_code("import ctypes; ctypes.string_at(0)", "[torch.randn(2)]")).find("crashed") !=
        std::string::npos);
  CHECK(fault_of(task_code("return x", "[torch.randn(2)]", "import no_such_module")).starts_with("missing"));
  CHECK(fault_of(task_code("return torch.no_such(x)", "[torch.randn(2)]")).starts_with("missing"));
  CHECK(
      fault_of(task_code("return torch.complex(x, x)", "[torch.randn(2)]")).starts_with("unsupported_type"));
  std::string module = task_code("return x", "[torch.randn(2)]");
  module.replace(module.find("return []"), 9, "return [nn.Tanh()]");
  CHECK(fault_of(module).find("torch.nn.modules.activation.Tanh") != std::string::npos);
  CHECK(fault_of(task_code("return x / 0 * 0", "[torch.randn(2)]")).starts_with("not_finite"));
  CHECK(fault_of(task_code("return x.repeat(100, 1000)", "[torch.randn(400)]")).starts_with("too_large"));
  CHECK(fault_of(task_code("return x + torch.rand(2)", "[torch.randn(2)]")).starts_with("random"));
  CHECK(fault_of(task_code("return x[x > 0]", "[torch.randn(999)]")).starts_with("data_dependent"));
  const std::string memory = fault_of(task_code("return torch.ones(10**12)", "[torch.randn(2)]"));
  INFO(memory);
  CHECK(memory.find("memory") != std::string::npos);
}

TEST_CASE("a task that says less than it must of its answers is at fault") {
  const std::string patch =
      "import sys\nsys.modules['oracle_checks'].Findings.without_computing = lambda self: []\n";
  CHECK(fault_of(patch + task_code("return 2 * x", "[torch.randn(9)]")).find("not of all of them") !=
        std::string::npos);
}

TEST_CASE("inputs over the limit are described without being drawn") {
  const auto opened = patient_oracle().open(task_code("return x", "[torch.randn(100000, 100000)]"), 3);
  const auto spec = opened->spec();
  REQUIRE(spec);
  CHECK(spec->too_large_bytes == 40000000000ull);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().reason.find("MiB") != std::string::npos);
}

TEST_CASE("outputs over the limit are told without being made, and the inputs with them") {
  OracleOptions options = oracle_options(600);
  options.max_input_bytes = 64u << 20;
  static Oracle patient(testing::box_host(), python_install(), options);
  const auto opened = patient.open(task_code("return x.repeat(1000, 1)", "[torch.randn(3000, 3000)]"), 4);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().kind == "too_large");
  const auto spec = opened->spec();
  REQUIRE(spec);
  CHECK(spec->layout.leaves.at(0).tensor.sizes == std::vector<int64_t>{3000, 3000});
}

TEST_CASE("a reference that hangs ends at its limit") {
  static Oracle impatient(testing::box_host(), python_install(), oracle_options(1));
  for (const char* forward : {"import time; time.sleep(1000); return x", "while True: x = x + 1"})
    CHECK(fault_of(task_code(forward, "[torch.randn(2)]"), impatient).find("longer") != std::string::npos);
}

TEST_CASE("tasks that name a GPU run on the CPU") {
  const auto opened = patient_oracle().open(
      task_code("return self.p.cuda() * x.to('cuda')", "[torch.randn(4, device='cuda')]",
                "self.p = torch.ones(4, device='cuda')"),
      2);
  INFO(opened->failure().reason);
  CHECK(opened->answers());
}

}  // namespace
}  // namespace bicrl
