// What measured times are worth, on a machine with a GPU: how far fresh verifications of one program spread,
// and how often two programs that differ by a tenth are ordered right. BICRL_TIMING_SECONDS bounds it.
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "common/clock.h"
#include "sandbox/gpu/timing/statistics.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/spread.h"

namespace bicrl {
namespace {

constexpr size_t kFresh = 20, kOrdered = 100;
constexpr uint64_t kLittleWork = 1 << 22;  // of the PTX interpreter: what it would say here is no question

struct TimedProgram {
  const char* name;
  std::string task, program;
};

std::string repeated_task(const std::string& forward, const std::string& inputs) {
  return "import torch\nimport torch.nn as nn\nclass Model(nn.Module):\n    def forward(self, *a):\n" +
         forward + "\ndef get_inputs():\n    return [" + inputs +
         "]\ndef get_init_inputs():\n    return []\n";
}

// `source` defines run(), which takes so many tensors.
std::string repeated_program(const std::string& source, int tensors) {
  std::string parameters, arguments;
  for (int i = 0; i < tensors; ++i) {
    parameters += concat(i ? ", " : "", "torch::Tensor x", i);
    arguments += concat(", x", i);
  }
  const std::string declared = "torch::Tensor run(" + parameters + ")";
  return "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\nsource = "
         "'''\n"
         "#include <torch/extension.h>\n" +
         source + "'''\nmodule = load_inline(name='m', cpp_sources='" + declared +
         ";', cuda_sources=source, functions=['run'])\nclass ModelNew(nn.Module):\n    def forward(self" +
         arguments + "):\n        return module.run(" + arguments.substr(2) + ")\n";
}

// Each thread has ten elements with 33 blocks, and eleven with 30.
TimedProgram waves(const char* name, int blocks) {
  return {
      name,
      repeated_task("        x = a[0]\n        for _ in range(96):\n"
                    "            x = torch.add(x, torch.sin(x), alpha=0.01)\n        return x",
                    "torch.randn(330, 128)"),
      repeated_program(
          concat(
              "__global__ void wave(const float* x, float* y, int n) {\n"
              "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {\n"
              "    float v = x[i];\n    for (int k = 0; k < 96; ++k) v = v + 0.01f * sinf(v);\n"
              "    y[i] = v;\n  }\n}\ntorch::Tensor run(torch::Tensor x0) {\n"
              "  auto y = torch::empty_like(x0);\n  wave<<<",
              blocks, ", 128>>>(x0.data_ptr<float>(), y.data_ptr<float>(), x0.numel());\n  return y;\n}\n"),
          1)};
}

TimedProgram naive_product() {
  return {
      "product of 640x640",
      repeated_task("        return a[0] @ a[1]", "torch.randn(640, 640), torch.randn(640, 640)"),
      repeated_program(
          "__global__ void product(const float* a, const float* b, float* c, int n) {\n"
          "  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;\n"
          "  float sum = 0.0f;\n  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];\n"
          "  c[row * n + column] = sum;\n}\ntorch::Tensor run(torch::Tensor x0, torch::Tensor x1) {\n"
          "  auto c = torch::empty_like(x0);\n  product<<<dim3(40, 40), dim3(16, "
          "16)>>>(x0.data_ptr<float>(),\n"
          "      x1.data_ptr<float>(), c.data_ptr<float>(), 640);\n  return c;\n}\n",
          2)};
}

// Shorter than 50 us: printed, and not checked.
TimedProgram small() {
  return {
      "small", repeated_task("        return torch.relu(a[0]) * 2", "torch.randn(512, 512)"),
      repeated_program(
          "__global__ void twice(const float* x, float* y, int n) {\n"
          "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 2.0f * fmaxf(x[i], "
          "0.0f);\n}\n"
          "torch::Tensor run(torch::Tensor x0) {\n  auto y = torch::empty_like(x0);\n  int n = x0.numel();\n"
          "  twice<<<(n + 255) / 256, 256>>>(x0.data_ptr<float>(), y.data_ptr<float>(), n);\n  return "
          "y;\n}\n",
          1)};
}

// BICRL_TIMING_COMPILE: beside torch.compile, too, which takes half a minute for the first task and a second
// for each other one.
bool beside_compiled() { return getenv("BICRL_TIMING_COMPILE") != nullptr; }

std::unique_ptr<Pipeline> timing_pipeline(int workers) {
  PipelineOptions options;
  options.python = testing::test_python();
  options.oracle.concurrent = workers;
  options.oracle.cpu_s = 3600;
  options.execute.lane_operations = kLittleWork;
  options.measures_times = true;
  GpuOptions gpu{.processes = 3};
  gpu.timing.on = true;
  gpu.timing.torch_compile = beside_compiled();
  options.backend = gpu_backend(gpu, InstrumentedRuns::kWherePossible);
  return std::make_unique<Pipeline>(options);
}

struct SeenVerdicts {
  std::mutex mutex;
  std::vector<Verdict> verdicts;
};

void print(const TimedProgram& program, const std::vector<Verdict>& verdicts) {
  std::vector<double> speedups, candidate, eager, run_ms, total_ms;
  std::map<std::string, int> others;
  for (const Verdict& v : verdicts) {
    run_ms.push_back(v.run_ms);
    total_ms.push_back(v.total_ms);
    if (v.speedup() <= 0) {
      ++others[to_string(v.outcome) + " " + v.fault_class + " " + v.reached + ": " +
               v.diagnostics.substr(0, 500)];
      continue;
    }
    speedups.push_back(v.speedup());
    candidate.push_back(v.candidate_ms * 1e3);
    eager.push_back(v.eager_ms * 1e3);
  }
  const std::span<const double> fresh = std::span(speedups).first(std::min(kFresh, speedups.size()));
  printf(
      "TIMING %s: %zu timed of %zu, %.1f us (CV %.2f %%), eager %.1f us, speed-up %.4f, CV of %zu: %.2f %%, "
      "of "
      "all %.2f %%, extremes %.4f %.4f; run %.0f ms, total %.0f ms\n",
      program.name, speedups.size(), verdicts.size(), timing::median(candidate),
      100 * testing::coefficient_of_variation(candidate), timing::median(eager), timing::median(speedups),
      fresh.size(), 100 * testing::coefficient_of_variation(fresh),
      100 * testing::coefficient_of_variation(speedups), timing::quantile(speedups, 0),
      timing::quantile(speedups, 1), timing::median(run_ms), timing::median(total_ms));
  if (!verdicts.empty()) printf("  %s\n", verdicts.front().measurement.c_str());
  for (const auto& [text, count] : others) printf("  %d times %s\n", count, text.c_str());
}

}  // namespace

TEST_CASE("measured speed-ups repeat, and order programs that differ by a tenth", "[.][timing]") {
  if (!testing::has_gpu()) SKIP("this machine has no GPU's driver");
  testing::box_host();
  const char* bound = getenv("BICRL_TIMING_SECONDS");
  const double seconds = bound ? atof(bound) : 1e9;
  const Stopwatch clock;
  const int workers = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 4);
  const auto pipeline = timing_pipeline(workers);
  for (const auto& text : pipeline->backend().present) printf("PRESENT %s\n", text.c_str());
  for (const auto& text : pipeline->backend().missing) printf("MISSING %s\n", text.c_str());
  printf("TIMING on %s, ready after %.1f s\n", pipeline->device().c_str(), clock.seconds());
  const std::vector<TimedProgram> programs{waves("ten a thread", 33), waves("eleven a thread", 30),
                                           naive_product(), small()};
  const size_t pairs = beside_compiled() ? kFresh : kOrdered;
  // Those of one task side by side if a change is dear.
  std::vector<size_t> asked;
  for (size_t i = 0; i < pairs; ++i)
    for (size_t program = 0; program < (i < kFresh && !beside_compiled() ? programs.size() : 2); ++program)
      asked.push_back(program);
  for (size_t program = 2; beside_compiled() && program < programs.size(); ++program)
    asked.insert(asked.end(), kFresh, program);
  std::vector<SeenVerdicts> seen(programs.size());
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&] {
        for (size_t k; (k = next++) < asked.size() && clock.seconds() < seconds;) {
          const TimedProgram& one = programs[asked[k]];
          VerificationRequest request;
          request.request_id = request.task_id = one.name;
          request.pytorch_code = one.task;
          request.program = one.program;
          request.protocol = kDefaultProtocol;
          request.protocol.measure_time = true;
          Verdict verdict = pipeline->verify(request);
          const std::lock_guard lock(seen[asked[k]].mutex);
          seen[asked[k]].verdicts.push_back(std::move(verdict));
        }
      });
  }
  size_t right = 0, compared = 0;
  for (; compared < std::min(seen[0].verdicts.size(), seen[1].verdicts.size()); ++compared) {
    const double faster = seen[0].verdicts[compared].speedup(), slower = seen[1].verdicts[compared].speedup();
    right += slower > 0 && faster > slower;
  }
  for (size_t i = 0; i < programs.size(); ++i) print(programs[i], seen[i].verdicts);
  printf("TIMING ordered right: %zu of %zu; %zu windows in %.1f s\n", right, compared,
         std::min<size_t>(next, asked.size()), clock.seconds());
  for (size_t i = 0; i < 3; ++i) {
    INFO(programs[i].name);
    std::vector<double> speedups;
    for (const Verdict& v : seen[i].verdicts)
      if (v.candidate_ms > 0.05 && speedups.size() < kFresh) speedups.push_back(v.speedup());
    CHECK(speedups.size() == kFresh);
    CHECK(testing::coefficient_of_variation(speedups) < 0.02);
  }
  CHECK(compared == pairs);
  CHECK(right * 100 >= 95 * compared);
}

}  // namespace bicrl
