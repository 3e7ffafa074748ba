// Tasks that are at fault themselves, with answers and without, and the bounds.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

#include "sandbox/oracle/oracle.h"
#include "tests/sandbox/oracle/oracle_support.h"
#include "tests/sandbox/service/service_support.h"

namespace bicrl {
namespace {

using namespace testing;

std::string fault_of(const std::string& code, Oracle& of = patient_oracle()) {
  const auto opened = of.open(code, 4);
  CHECK(opened->answers() == nullptr);
  CHECK(opened->failure().invalid_task);
  return opened->failure().kind + ": " + opened->failure().reason;
}

TEST_CASE("input samples stay where the reference is finite") {
  const auto opened =
      patient_oracle().open(task_code("return torch.log(1 - x)", "[torch.rand(64) * 0.5]"), 3);
  const auto answers = opened->answers();
  REQUIRE(answers);
  for (const auto& test_input : answers->test_inputs)
    for (const float y : floats(test_input.expected[0].center)) CHECK(std::isfinite(y));
  // Half of it is not a number on any test input: those elements must be so in every answer.
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
  // Two answers, of which one says something.
  CHECK(kinds(task_code("return torch.isnan(x), x.exp()", x)).empty());
  CHECK(kinds(task_code("return torch.sin(x * 1e9)", x)).contains("fragile"));
  const std::string two =
      "import torch, torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, x, y):\n"
      "        return torch.exp(x)\ndef get_inputs():\n    return [torch.randn(9, 9), torch.randn(9)]\n"
      "def get_init_inputs():\n    return []\n";
  CHECK(kinds(two) == Set{"blind"});
  CHECK(kinds(task_code("return x.exp()", "[torch.randn(0, 64)]")) == Set{"empty"});
}

TEST_CASE("types of elements that the sandbox does not have are faults of the task, by name") {
  for (const std::string type : {"float8_e4m3fnuz", "float8_e8m0fnu", "complex64", "uint16"}) {
    const std::string input = concat("[torch.zeros(4, 5).to(torch.", type, ")]");
    CHECK(fault_of(task_code("return x.float()", input)) ==
          concat("unsupported_type: tensors of torch.", type, " are not supported"));
  }
  CHECK(fault_of(task_code("return x.to(torch.float8_e4m3fnuz)", "[torch.randn(4, 5)]")) ==
        "unsupported_type: tensors of torch.float8_e4m3fnuz are not supported");
}

TEST_CASE("a task that any program passes without computing is invalid") {
  const std::string x = "[torch.randn(16, 64)]";
  const auto fault = [&](const std::string& forward, const std::string& inputs,
                         const std::string& init = "") {
    const auto answers = patient_oracle().open(task_code(forward, inputs, init), 4)->answers();
    REQUIRE(answers);
    REQUIRE(answers->faults.size() == 1);
    CHECK(answers->faults.front().is_vacuous);
    return answers->faults.front().kind + ": " + answers->faults.front().message;
  };
  CHECK(fault("return x * 1", x).starts_with("trivial: right without computing anything: input 0"));
  // What rounds may stay unrounded.
  CHECK(fault("return x.half().float()", x).starts_with("trivial"));
  CHECK(fault("return x.expand(5, 16, 64).clone()", x).starts_with("trivial"));
  CHECK(fault("return x[:, None, :].expand(16, 5, 64).contiguous()", x).starts_with("trivial"));
  CHECK(fault("return x.double()", x).starts_with("trivial"));
  for (const char* constant : {"torch.zeros_like(x)", "torch.isnan(x)", "x.abs() > -1",
                               "torch.isinf(x.tanh())", "(x.exp() * 0).sum() + 3", "F.mse_loss(x, x)"})
    CHECK(fault(concat("return ", constant), x).starts_with("blind"));
  CHECK(
      fault("return self.w.exp() + 0 * x", x, "self.w = nn.Parameter(torch.randn(64))").starts_with("blind"));
  // Its only input has one value, which has no other.
  CHECK(fault("return x.exp()", "[torch.ones(4, dtype=torch.long)]").starts_with("blind"));
  // One up to rounding, whatever the input.
  CHECK(fault("return torch.softmax(x, -1).sum(-1)", x).starts_with("trivial"));
}

TEST_CASE("a literal input that the reference refuses changed, or takes only in some changes, is no fault") {
  const std::pair<const char*, const char*> tasks[] = {
      {"return torch.linalg.solve(x.round(), y)",
       "[torch.tensor([[2.0, 1.0], [1.0, 3.0]]), torch.randn(2, 2)]"},
      {"return y[torch.nonzero(x.long()).squeeze(1)] * 2",
       "[torch.tensor([0, 3, 1, 2, 0, 2]), torch.randn(6, 5)]"},
      {"return torch.bincount(x) + y.exp()", "[torch.tensor([0, 3, 1, 2, 1, 2]), torch.randn(4)]"}};
  for (const auto& [forward, inputs] : tasks)
    for (int round = 0; round < 4; ++round) {
      const std::string code =
          concat("import torch, torch.nn as nn\n# ", round,
                 "\nclass Model(nn.Module):\n    def forward(self, x, y):\n        ", forward,
                 "\ndef get_inputs():\n    return ", inputs, "\ndef get_init_inputs():\n    return []\n");
      const auto opened = patient_oracle().open(code, 4);
      const bool answered = opened->answers() != nullptr;
      INFO(code << opened->failure().reason);
      CHECK(answered);
    }
}

TEST_CASE("an answer of a few values that is often the same is one that can be graded") {
  for (int round = 0; round < 3; ++round) {
    const std::string code = task_code(concat("return x.sum() > ", round), "[torch.randn(2)]");
    const auto opened = patient_oracle().open(code, 4);
    INFO(opened->failure().reason);
    CHECK(opened->answers());
  }
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
  const auto x = floats(answers->test_inputs[0].inputs[0]), y = floats(answers->test_inputs[0].inputs[1]);
  const auto z = floats(answers->test_inputs[0].expected[0].center);
  for (size_t i = 0; i < 9; ++i) CHECK(std::abs(z[i] - x[i] * (x[i] + y[i])) < 1e-5f * (1 + std::abs(z[i])));
}

TEST_CASE("an allowance for TF32 comes if it is asked for") {
  OracleOptions options = oracle_options(600);
  options.tf32 = true;
  static Oracle with_tf32(testing::box_host(), python_install(), options);
  const auto answers = with_tf32.open(task_code("return x @ x.t()", "[torch.randn(32, 64)]"), 4)->answers();
  REQUIRE(answers);
  const auto& leaf = answers->test_inputs[0].expected[0];
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
  CHECK(fault_of(task_code("import os; os.write(2, b'because'); os._exit(3)", "[torch.randn(2)]"))
            .ends_with("(status 3): because"));
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

TEST_CASE("a task whose answers are described only in part is invalid") {
  const std::string patch =
      "import sys\nsys.modules['oracle_checks'].Findings.without_computing = lambda self: []\n";
  CHECK(fault_of(patch + task_code("return 2 * x", "[torch.randn(9)]")).find("not of all of them") !=
        std::string::npos);
}

TEST_CASE("a task that is too large for this machine is reported before any program is run on it") {
  const auto too_large = [](Oracle& oracle, const std::string& code) {
    const auto opened = oracle.open(code, 4);
    CHECK(opened->spec() == nullptr);
    CHECK(opened->failure().kind == "too_large");
    CHECK(opened->failure().invalid_task);
    return opened->failure().reason;
  };
  CHECK(too_large(patient_oracle(), task_code("return x.exp()", "[torch.randn(100000, 100000)]"))
            .find("its inputs take 38146 MiB") != std::string::npos);
  OracleOptions options = oracle_options(600);
  options.max_input_bytes = 64u << 20;
  static Oracle patient(testing::box_host(), python_install(), options);
  CHECK(too_large(patient, task_code("return x.repeat(1000, 1)", "[torch.randn(3000, 3000)]"))
            .find("its outputs take") != std::string::npos);
}

TEST_CASE("a task whose reference does more than a run may do is invalid, unless it multiplies zeros") {
  OracleOptions options = oracle_options(600);
  options.most_lane_operations = uint64_t{1} << 29;
  static Oracle weak(testing::box_host(), python_install(), options);
  const std::string x = "[torch.randn(1100, 1100)]";
  const std::string fault = fault_of(task_code("return x @ x.t()", x), weak);
  CHECK(fault.starts_with("too_large"));
  CHECK(fault.find("run_lane_operations") != std::string::npos);
  CHECK(weak.open(task_code("return torch.diag(x[0]) @ x", x), 4)->answers());
  CHECK(weak.open(task_code("return x[:300] @ x", x), 4)->answers());
}

TEST_CASE("a reference with too many different operators is refused by name") {
  const std::string patch = "import sys\nsys.modules['oracle_operators'].MOST_TEXT = 4000\n";
  const std::string sums = "return sum(x[:n].exp().sum() for n in range(1, 40))";
  const std::string fault = fault_of(patch + task_code(sums, "[torch.randn(40)]"));
  INFO(fault);
  CHECK(fault.starts_with("too_large: its forward pass runs too many different operators"));
}

TEST_CASE("a reference that hangs ends at its limit") {
  static Oracle impatient(testing::box_host(), python_install(), oracle_options(1));
  for (const char* forward : {"import time; time.sleep(1000); return x", "while True: x = x + 1"})
    CHECK(fault_of(task_code(forward, "[torch.randn(2)]"), impatient).find("longer") != std::string::npos);
}

TEST_CASE("tasks that name a GPU run on the CPU") {
  const auto opened = patient_oracle().open(
      task_code("return self.p.cuda() + x.to('cuda')", "[torch.randn(4, device='cuda')]",
                "self.p = torch.ones(4, device='cuda')"),
      2);
  CHECK(opened->answers());
}

}  // namespace
}  // namespace bicrl
