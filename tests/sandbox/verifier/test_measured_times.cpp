// The stage of a verification that measures: what it gives a backend that has a clock, and what becomes of
// the answer.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "common/error.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/clocked_backend.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

// With parameters, so that another model would answer otherwise.
constexpr const char* kScaledTask = R"(
import torch
import torch.nn as nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))
    def forward(self, x):
        return torch.relu(x) * self.weight
def get_inputs():
    return [torch.randn(32, 64)]
def get_init_inputs():
    return []
)";
constexpr const char* kCosting = "def get_costing_inputs():\n    return [torch.randn(96, 64)]\n";

std::string scaled_program(const std::string& rows = "x.size(0)") {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\nsource = "
         "'''\n"
         "#include <torch/extension.h>\n"
         "__global__ void scaled(const float* x, const float* w, float* y) {\n"
         "  int i = blockIdx.x * 64 + threadIdx.x;\n  y[i] = fmaxf(x[i], 0.0f) * w[threadIdx.x];\n}\n"
         "torch::Tensor run(torch::Tensor x, torch::Tensor w) {\n  auto y = torch::empty_like(x);\n"
         "  int rows = " +
         rows +
         ";\n  scaled<<<rows, 64>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>());\n"
         "  return y;\n}\n'''\n"
         "module = load_inline(name='m', cpp_sources='torch::Tensor run(torch::Tensor x, torch::Tensor w);', "
         "cuda_sources=source, functions=['run'])\nclass ModelNew(nn.Module):\n    def __init__(self):\n"
         "        super().__init__()\n        self.weight = nn.Parameter(torch.randn(64))\n"
         "    def forward(self, x):\n        return module.run(x, self.weight)\n";
}

struct Measuring {
  std::vector<TimingPlan> plans;                                   // whose traces are gone
  std::vector<std::vector<std::vector<std::string>>> test_inputs;  // of each plan, test input and leaf
  testing::MadeUpTimes times = [](const TimingPlan&, TimingResult& result) {
    result.candidate_ms = 0.5;
    result.eager_ms = 1;
    result.roofline_fraction = 0.25;
    result.measurement = R"({"pairs":16})";
  };

  Pipeline& pipeline() {
    if (!pipeline_) {
      testing::box_host();
      PipelineOptions options;
      options.python = testing::test_python();
      options.oracle.cpu_s = 3600;
      options.measures_times = true;
      options.infrastructure_retries = 0;
      options.backend = [this](const BackendSetting& setting) {
        return testing::clocked(ptx_backend()(setting), [this](const TimingPlan& plan, TimingResult& result) {
          plans.push_back(plan);
          auto& kept = test_inputs.emplace_back();
          for (const InputLeaves& test_input : plan.test_inputs) kept.push_back(*test_input.leaves);
          times(plan, result);
        });
      };
      pipeline_ = std::make_unique<Pipeline>(options);
    }
    return *pipeline_;
  }

  Verdict verify(const std::string& task, const std::string& program, bool times_too = true) {
    VerificationRequest request;
    request.request_id = request.task_id = "measured";
    request.pytorch_code = task;
    request.program = program;
    request.protocol = kDefaultProtocol;
    request.protocol.measure_time = times_too;
    return pipeline().verify(request);
  }

 private:
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace

TEST_CASE("a correct program is timed on test inputs of its own, and its answers to them are checked") {
  Measuring measuring;
  const Verdict v = measuring.verify(kScaledTask, scaled_program());
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.clock == kMeasuredClock);
  CHECK(v.device == "a made-up device, windows 1");
  CHECK(v.reached == "time");
  CHECK(v.candidate_ms == 0.5);
  CHECK(v.speedup() == 2);
  CHECK(v.roofline_fraction == 0.25);
  CHECK(v.costed_size == "32x64");
  CHECK(v.measurement == R"({"pairs":16})");
  CHECK(v.counters == "");
  CHECK(verdict_problem(v).empty());
  REQUIRE(measuring.verify(kScaledTask, scaled_program()).correct);
  REQUIRE(measuring.plans.size() == 2);
  // One model, whose constructor's secret both windows share, and inputs that no window has twice.
  CHECK(measuring.plans[0].init_seed == measuring.plans[1].init_seed);
  std::set<std::string> inputs;
  for (const auto& test_inputs : measuring.test_inputs)
    for (const auto& leaves : test_inputs) inputs.insert(leaves.at(0));
  CHECK(inputs.size() == 2 * kInputKinds);
  const uint64_t bytes = 32 * 64 * 4;
  CHECK(measuring.plans[0].least_written_bytes == bytes);
  CHECK(measuring.plans[0].least_read_bytes == bytes);
  // Who does not ask is not timed.
  const Verdict unasked = measuring.verify(kScaledTask, scaled_program(), false);
  CHECK(unasked.correct);
  CHECK(unasked.clock.empty());
  CHECK(measuring.plans.size() == 2);
}

TEST_CASE("a task's larger inputs are those that programs are timed on, and judged there once more") {
  Measuring measuring;
  const Verdict v = measuring.verify(kScaledTask + std::string(kCosting), scaled_program());
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.costed_size == "96x64");
  CHECK(measuring.plans.at(0).costing_inputs);
  CHECK(measuring.plans.at(0).test_inputs.size() == 2);
  const Verdict partly = measuring.verify(kScaledTask + std::string(kCosting), scaled_program("32"));
  CHECK_FALSE(partly.correct);
  CHECK_THAT(partly.diagnostics, ContainsSubstring("get_costing_inputs()"));
  CHECK(measuring.plans.size() == 1);
}

TEST_CASE("how a window ends is how the verification does") {
  Measuring measuring;
  const auto ends = [&](Fault step, const std::string& untimed = "") {
    measuring.times = [=](const TimingPlan&, TimingResult& result) {
      result.end = step;
      result.untimed = untimed;
    };
    return measuring.verify(kScaledTask, scaled_program());
  };
  const Verdict incorrect =
      ends(Fault::of_program(FaultClass::kWrongValue, "a call that was timed is wrong"));
  CHECK(incorrect.outcome == Outcome::kGraded);
  CHECK_FALSE(incorrect.correct);
  CHECK(incorrect.fault_class == "wrong_value");
  CHECK(incorrect.trials_passed == incorrect.trials - 1);
  CHECK(verdict_problem(incorrect).empty());
  const Verdict faulty = ends(Fault::of_program(FaultClass::kIllegalAccess, "wild"));
  CHECK(faulty.outcome == Outcome::kCandidateFault);
  CHECK(faulty.fault_class == "illegal_access");
  CHECK(verdict_problem(faulty).empty());
  const Verdict lost = ends(Fault::infrastructure("the device is gone"));
  CHECK(lost.outcome == Outcome::kInfrastructure);
  CHECK(lost.diagnostics == "the device is gone");
  CHECK(verdict_problem(lost).empty());
  const Verdict untimed = ends({}, "it beats the memory");
  CHECK(untimed.correct);
  CHECK(untimed.candidate_ms == 0);
  CHECK(untimed.speedup() == 0);
  CHECK(untimed.diagnostics == "no times: it beats the memory");
  CHECK(verdict_problem(untimed).empty());
}

TEST_CASE("times are not to be measured by a backend without a clock") {
  testing::box_host();
  PipelineOptions options;
  options.python = testing::test_python();
  options.measures_times = true;
  try {
    Pipeline pipeline(options);
    FAIL("the PTX interpreter measures times");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUnavailable);
    CHECK_THAT(error.what(), ContainsSubstring("cannot measure times"));
  }
}

}  // namespace bicrl
