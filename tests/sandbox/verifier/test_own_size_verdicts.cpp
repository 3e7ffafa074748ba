// What becomes of a verdict once a backend has judged the program at its task's own size, or cannot.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <optional>

#include "common/error.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/clocked_backend.h"
#include "tests/sandbox/verifier/own_size_backend.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// 8 GiB of inputs.
constexpr const char* kDecayTask = R"(
import torch
import torch.nn as nn
rows = 16384
columns = 131072
class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-x)
def get_inputs():
    return [torch.rand(rows, columns)]
def get_init_inputs():
    return []
)";

// `check` comes first in the host part.
std::string decay_program(const std::string& check = "") {
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n"
         "source = '''\n#include <torch/extension.h>\n"
         "__global__ void decay(const float* x, float* out, long n) {\n"
         "    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;\n    if (i < n) out[i] = "
         "expf(-x[i]);\n}\n"
         "torch::Tensor run(torch::Tensor x) {\n    " +
         check +
         "\n    auto out = torch::empty_like(x);\n"
         "    decay<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), "
         "x.numel());\n"
         "    return out;\n}\n'''\n"
         "module = load_inline(name='m', cpp_sources='torch::Tensor run(torch::Tensor x);', "
         "cuda_sources=source, functions=['run'])\nclass ModelNew(nn.Module):\n"
         "    def forward(self, x):\n        return module.run(x)\n";
}

const std::string kSpecialised = "TORCH_CHECK(x.size(1) == 131072);";

// A pipeline that measures times, and how its backend judges at own sizes.
struct KnownOwnSizes {
  OwnSizeResult result;
  std::optional<OwnSizePlan> asked;  // whose trace is gone
  int windows = 0;                   // at other sizes

  Verdict verify(const std::string& program, VerificationProtocol protocol = kDefaultProtocol,
                 const std::string& task = kDecayTask) {
    VerificationRequest request;
    request.request_id = request.task_id = "large";
    request.pytorch_code = task;
    request.program = program;
    request.protocol = protocol;
    asked.reset();
    return pipeline().verify(request);
  }

 private:
  Pipeline& pipeline() {
    if (pipeline_) return *pipeline_;
    testing::box_host();
    PipelineOptions options;
    options.python = testing::test_python();
    options.oracle.cpu_s = 3600;
    options.measures_times = true;
    options.infrastructure_retries = 0;
    options.backend = [this](const BackendSetting& setting) {
      auto machine = testing::clocked(ptx_backend()(setting), [this](const TimingPlan&, TimingResult& timed) {
        ++windows;
        timed.candidate_ms = 3;
        timed.eager_ms = 6;
      });
      return testing::judging_own_sizes(std::move(machine), [this](const OwnSizePlan& plan) {
        asked = plan;
        return result;
      });
    };
    pipeline_ = std::make_unique<Pipeline>(options);
    return *pipeline_;
  }

  std::unique_ptr<Pipeline> pipeline_;
};

VerificationProtocol protocol(SizePolicy size,
                              SpecialisedPolicy specialised = SpecialisedPolicy::kIncorrect) {
  VerificationProtocol protocol = kDefaultProtocol;
  protocol.size = size;
  protocol.specialised = specialised;
  return protocol;
}

VerificationProtocol timed() {
  VerificationProtocol protocol = kDefaultProtocol;
  protocol.measure_time = true;
  return protocol;
}

}  // namespace

TEST_CASE("a program that is correct at its own size is graded there") {
  KnownOwnSizes sizes;
  sizes.result.max_error_ratio = 0.5;
  sizes.result.note = "a remark";
  const Verdict v = sizes.verify(decay_program());
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(v.graded_at == kOwnSize);
  CHECK(v.costed_at.empty());
  CHECK(v.trials_passed == 4);
  CHECK(v.max_error_ratio >= 0.5);
  CHECK(v.diagnostics == "a remark");
  CHECK(verdict_problem(v).empty());
  REQUIRE(sizes.asked);
  CHECK(sizes.asked->task_code == kDecayTask);
  CHECK(sizes.asked->variants.size() == 2);
  CHECK(sizes.asked->trivial_outputs == std::vector<bool>{false});
  CHECK(sizes.asked->tolerance == to_string(kDefaultProtocol.tolerance));
  CHECK_FALSE(sizes.asked->measure_time);
  // Nobody is asked where reduced sizes are.
  CHECK(sizes.verify(decay_program(), protocol(SizePolicy::kReduced)).graded_at == kReducedSize);
  CHECK_FALSE(sizes.asked);
  // Nor of a program that is incorrect there already.
  CHECK_FALSE(sizes.verify(decay_program("return x;")).correct);
  CHECK_FALSE(sizes.asked);
}

TEST_CASE("a program that is incorrect at its own size alone is refused") {
  KnownOwnSizes sizes;
  sizes.result.end = Fault::of_program(FaultClass::kWrongValue, "element 7 is wrong");
  const Verdict compared = sizes.verify(decay_program(), timed());
  CHECK_FALSE(compared.correct);
  CHECK(compared.outcome == Outcome::kGraded);
  CHECK(compared.fault_class == "wrong_value");
  CHECK(compared.reached == "compare");
  CHECK(compared.diagnostics == "at its own size: element 7 is wrong");
  CHECK(compared.graded_at == kOwnSize);
  CHECK(compared.trials_passed == 3);
  CHECK(compared.candidate_ms == 0);
  CHECK(verdict_problem(compared).empty());

  sizes.result.end = Fault::of_program(FaultClass::kMemory, "too little of it");
  const Verdict ran = sizes.verify(decay_program());
  CHECK(ran.outcome == Outcome::kCandidateFault);
  CHECK(ran.fault_class == "memory");
  CHECK(ran.reached == "run");

  sizes.result.end = Fault::infrastructure("the device is gone");
  const Verdict lost = sizes.verify(decay_program());
  CHECK(lost.outcome == Outcome::kInfrastructure);
  CHECK(lost.fault_class.empty());
  CHECK(verdict_problem(lost).empty());
}

TEST_CASE("a program that refuses reduced sizes is judged at its own alone") {
  KnownOwnSizes sizes;
  const Verdict right = sizes.verify(decay_program(kSpecialised));
  INFO(right.diagnostics);
  REQUIRE(right.correct);
  CHECK(right.graded_at == kOwnSize);
  CHECK(right.trials == 2);
  CHECK(right.trials_passed == 2);
  CHECK_THAT(right.diagnostics, ContainsSubstring("without an instrumented run"));
  CHECK(verdict_problem(right).empty());
  REQUIRE(sizes.asked);
  CHECK(sizes.asked->trivial_outputs == std::vector<bool>{false});

  sizes.result.end = Fault::of_program(FaultClass::kNonFinite, "NaN");
  const Verdict incorrect = sizes.verify(decay_program(kSpecialised));
  CHECK_FALSE(incorrect.correct);
  CHECK(incorrect.outcome == Outcome::kGraded);
  CHECK(incorrect.fault_class == "non_finite");
  CHECK(incorrect.trials_passed == 0);
  CHECK(verdict_problem(incorrect).empty());
}

TEST_CASE("a task that the device cannot judge at its own size keeps what reduced sizes say") {
  KnownOwnSizes sizes;
  sizes.result.ungradable = "it takes 90 GiB";
  const Verdict fitting = sizes.verify(decay_program(), timed());
  INFO(fitting.diagnostics);
  CHECK(fitting.correct);
  CHECK(fitting.graded_at == kReducedSize);
  CHECK_THAT(fitting.diagnostics, StartsWith("not gradable at its own size: it takes 90 GiB"));
  CHECK_THAT(fitting.diagnostics, ContainsSubstring("no times: it was judged at reduced sizes"));
  CHECK(verdict_problem(fitting).empty());

  const Verdict own = sizes.verify(decay_program(), protocol(SizePolicy::kOwn));
  CHECK(own.outcome == Outcome::kInvalidTask);
  CHECK_FALSE(own.correct);
  CHECK_THAT(own.diagnostics, ContainsSubstring("it takes 90 GiB"));
  CHECK(verdict_problem(own).empty());

  // A program that cannot be judged is incorrect or masked, as the protocol says.
  const Verdict incorrect = sizes.verify(decay_program(kSpecialised));
  CHECK(incorrect.outcome == Outcome::kCandidateFault);
  CHECK(incorrect.fault_class == "specialised");
  CHECK_THAT(incorrect.diagnostics, ContainsSubstring("it takes 90 GiB"));
  const auto masks = protocol(SizePolicy::kFitting, SpecialisedPolicy::kMask);
  CHECK(sizes.verify(decay_program(kSpecialised), masks).outcome == Outcome::kUndecided);
  sizes.result = {};
  CHECK(sizes.verify(decay_program(kSpecialised), masks).correct);
}

TEST_CASE("times at the own size are those of its window, or the verdict says why there are none") {
  KnownOwnSizes sizes;
  sizes.result.timed.candidate_ms = 2;
  sizes.result.timed.eager_ms = 5;
  sizes.result.timed.measurement = R"({"pairs":16})";
  const Verdict v = sizes.verify(decay_program(), timed());
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK(sizes.asked->measure_time);
  CHECK(v.candidate_ms == 2);
  CHECK(v.eager_ms == 5);
  CHECK(v.costed_at == kOwnSize);
  CHECK(v.costed_size == "16384x131072");
  CHECK(v.measurement == R"({"pairs":16})");
  CHECK(sizes.windows == 0);
  CHECK(verdict_problem(v).empty());

  sizes.result.timed = {};
  sizes.result.timed.untimed = "the window does not settle";
  const Verdict untimed = sizes.verify(decay_program(), timed());
  CHECK(untimed.correct);
  CHECK(untimed.graded_at == kOwnSize);
  CHECK(untimed.costed_at.empty());
  CHECK(untimed.candidate_ms == 0);
  CHECK(untimed.diagnostics == "no times: the window does not settle");
}

TEST_CASE("inputs that a task names for costing are timed instead of its own size") {
  KnownOwnSizes sizes;
  sizes.result.note = "a remark";
  const std::string task = concat(kDecayTask, "def get_costing_inputs():\n    return [torch.rand(96, 64)]\n");
  const Verdict v = sizes.verify(decay_program(), timed(), task);
  INFO(v.diagnostics);
  REQUIRE(v.correct);
  CHECK_FALSE(sizes.asked->measure_time);
  CHECK(sizes.windows == 1);
  CHECK(v.candidate_ms == 3);
  CHECK(v.graded_at == kOwnSize);
  CHECK(v.costed_at == kOwnSize);
  CHECK(v.costed_size == "96x64");
  CHECK(v.diagnostics == "a remark");
  CHECK(verdict_problem(v).empty());
  // They are refused by what refuses every size but one.
  const Verdict refuses = sizes.verify(decay_program(kSpecialised), timed(), task);
  CHECK_FALSE(refuses.correct);
  CHECK(refuses.fault_class == "record");
  CHECK_THAT(refuses.diagnostics, StartsWith("on the inputs of get_costing_inputs(): "));
  CHECK(sizes.windows == 1);
  CHECK(verdict_problem(refuses).empty());
}

}  // namespace bicrl
