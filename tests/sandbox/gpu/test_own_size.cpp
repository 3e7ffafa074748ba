// Programs at their task's own size on a device: memory that two processes share, what is compared in it, and
// what follows when a program is at fault. Where there is no GPU a driver of the tests' own stands in for
// NVIDIA's, and references run on the CPU.
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "tests/sandbox/box/child_processes.h"
#include "tests/sandbox/gpu/gpu_programs.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using testing::gpu_launch;
using testing::gpu_view;

std::string twice_task(const std::string& rows, const std::string& forward = "x * 2",
                       const std::string& inputs = "torch.randn(rows)") {
  return "import torch\nimport torch.nn as nn\nrows = " + rows +
         "\nclass Model(nn.Module):\n    def forward(self, x):\n        return " + forward +
         "\ndef get_inputs():\n    return [" + inputs + "]\ndef get_init_inputs():\n    return []\n";
}

Backend& own_size_backend() {
  static const std::unique_ptr<Backend> backend = [] {
    GpuOptions made{.processes = 1, .run_s = 1, .max_buffer_bytes = 1ull << 30};
    made.timing.on = true;
    if (!testing::has_gpu()) made.timing.baseline.device = "cpu";
    made.timing.window.steadiness = {
        .least_pairs = 4, .most_pairs = 4, .enough = 1e9, .most = 1e9, .step = 1e9};
    return testing::make_gpu_backend(made);
  }();
  return *backend;
}

struct Judged {
  json ops = {gpu_launch("twice")};
  json repeats = json::array();
  json output = gpu_view(1, 4);
  std::string forward = "x * 2", inputs = "torch.randn(rows)";
  bool measure_time = false;
  std::vector<bool> trivial_outputs = {false};
};

OwnSizeResult judge(const Judged& judged) {
  const Trace trace =
      testing::gpu_trace({.ops = judged.ops, .repeats = judged.repeats, .output = judged.output});
  OwnSizePlan plan{.task_code = twice_task("4", judged.forward, judged.inputs),
                   .variants = {twice_task("5", judged.forward, judged.inputs),
                                twice_task("7", judged.forward, judged.inputs)},
                   .inputs = {{{"t", "tensor"}, {"shape", {4}}, {"strides", {1}}, {"dtype", "float32"}}},
                   .layout = &trace.inputs,
                   .answer = {{"t", "tensor"}, {"shape", {4}}, {"strides", {1}}, {"dtype", "float32"}},
                   .init_seed = 3,
                   .tolerance = "profile",
                   .trace = &trace,
                   .modules = {{std::make_shared<const std::string>(testing::kGpuText)}},
                   .trivial_outputs = judged.trivial_outputs,
                   .measure_time = judged.measure_time};
  return own_size_backend().judge_own_size(plan, {});
}

void check_right(const OwnSizeResult& result) {
  CHECK(result.ungradable == "");
  CHECK(result.end.reason == "");
  CHECK_FALSE(result.end);
  CHECK(result.max_error_ratio <= 1);
}

void check_fault(const OwnSizeResult& result, FaultClass fault_class) {
  INFO(result.ungradable << result.end.reason);
  CHECK(result.end.is(fault_class));
  check_right(judge({}));  // another process, if the last one was lost
}

}  // namespace

TEST_CASE("a program is compared and timed in memory that it shares with the reference", "[gpu]") {
  CHECK(own_size_backend().features().judges_own_sizes);
  CHECK_THAT(own_size_backend().features().name, ContainsSubstring("/own-sizes-"));
  const OwnSizeResult result = judge({.measure_time = true});
  check_right(result);
  CHECK(result.held_ms > 0);
  CHECK(result.timed.untimed == "");
  CHECK(result.timed.candidate_ms > 0);
  CHECK(result.timed.eager_ms > 0);
  CHECK_THAT(result.memory, ContainsSubstring("for two test inputs"));
  // The test inputs of a task stay for its next program, and so does the process that ran the last one: what
  // it gave back was not in use any more.
  for (int i = 0; i < 3; ++i) check_right(judge({}));
}

TEST_CASE("a program that is incorrect at the task's own size is refused", "[gpu]") {
  check_fault(judge({.ops = {gpu_launch("twice", /*n=*/3)}}),
              FaultClass::kNonFinite);  // what nobody wrote is a NaN
  check_fault(judge({.forward = "x * 2.001"}), FaultClass::kWrongValue);
  check_fault(judge({.ops = {gpu_launch("twice"), gpu_launch("beyond", /*n=*/4)}}),
              FaultClass::kIllegalAccess);
  check_fault(judge({.ops = {gpu_launch("wild")}}), FaultClass::kIllegalAccess);
  check_fault(judge({.ops = {gpu_launch("endless")}}), FaultClass::kTimeout);
}

TEST_CASE("an answer that comes without kernels is no program's", "[gpu]") {
  const json copy{{"op", "copy"}, {"target", gpu_view(1, 4)}, {"source", gpu_view(0, 4)}};
  check_fault(judge({.ops = {copy, gpu_launch("count", 0)}, .forward = "x * 1"}), FaultClass::kWrongValue);
  check_fault(judge({.ops = {copy, gpu_launch("twice", /*n=*/0)}, .forward = "x * 1"}),
              FaultClass::kDeadKernel);
  check_right(judge({.ops = {copy, gpu_launch("twice", 0)}, .forward = "x * 1", .trivial_outputs = {true}}));
}

TEST_CASE("a later call is compared where it may answer otherwise than the first", "[gpu]") {
  // The second launch finds the counter changed.
  const json ops{gpu_launch("twice"), gpu_launch("twice")}, other{gpu_launch("twice", /*n=*/3)};
  check_right(judge({.ops = ops, .repeats = {ops, ops}}));
  check_fault(judge({.ops = {gpu_launch("twice")}, .repeats = {other, other}}), FaultClass::kWrongValue);
}

TEST_CASE("a program that is correct only while it is not timed is refused at the task's own size") {
  if (testing::has_gpu()) SKIP("asks for the driver of the tests");
  const OwnSizeResult result = judge({.ops = {gpu_launch("idles_later")}, .measure_time = true});
  CHECK(result.end.blame == Fault::Blame::kProgram);
  CHECK_THAT(result.end.reason, ContainsSubstring("timed"));
  check_right(judge({}));
}

TEST_CASE("an output that lies between two elements is the program's fault", "[gpu]") {
  check_fault(judge({.output = gpu_view(1, 3, /*offset_bytes=*/2)}), FaultClass::kUnsupported);
}

// While another one starts nobody takes what it says of itself from the other, and no task is to blame.
TEST_CASE("programs that come while the references' process starts anew wait for it", "[gpu]") {
  check_right(judge({}));
  for (int round = 0; round < 2; ++round) {
    for (const pid_t process : testing::descendants_with("own_size.py")) kill(process, SIGKILL);
    std::vector<OwnSizeResult> results(3);
    {
      std::vector<std::jthread> programs;
      for (OwnSizeResult& result : results) programs.emplace_back([&result] { result = judge({}); });
    }
    // The first one meets the process that is gone.
    int lost = 0;
    for (const OwnSizeResult& result : results) {
      CHECK(result.ungradable == "");
      lost += result.end.is_infrastructure();
      if (!result.end) CHECK(result.max_error_ratio <= 1);
    }
    CHECK(lost <= 1);
  }
  check_right(judge({}));
}

TEST_CASE("a task whose inputs are the same under every seed is not gradable at its own size", "[gpu]") {
  const OwnSizeResult result = judge({.inputs = "torch.arange(rows) * 0.5"});
  CHECK_THAT(result.ungradable, ContainsSubstring("same values under every seed"));
  check_right(judge({}));
}

TEST_CASE("the allowed error at the task's own size is the same in slices as in one piece") {
  testing::run_python(testing::source_path("tests/sandbox/oracle/own_size_check.py"),
                      {testing::source_path("sandbox/runtimes").string()});
}

}  // namespace bicrl
