#include "tests/sandbox/gpu/gpu_programs.h"

#include <cstdlib>
#include <cstring>

#include "common/error.h"
#include "sandbox/frontend/device_toolchain.h"
#include "sandbox/gpu/gpu_box.h"
#include "sandbox/gpu/sanitizer_report.h"
#include "tests/sandbox/fault_name.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/support/support.h"

namespace bicrl::testing {

using nlohmann::json;

const char* const kGpuText = R"(
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 counter = 7;
.visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .f32 %f<3>; .reg .b32 %r<4>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.s32 %p1, %r2, %r1;
  @%p1 bra $done;
  mul.wide.s32 %rd5, %r2, 4;
  add.s64 %rd6, %rd1, %rd5;
  ld.global.f32 %f1, [%rd6];
  add.f32 %f2, %f1, %f1;
  add.s64 %rd7, %rd2, %rd5;
  st.global.f32 [%rd7], %f2;
$done:
  ret;
}
.visible .entry twice_by_64(.param .u64 x, .param .u64 y, .param .u32 n) .maxntid 64, 1, 1 {
  ret;
}
.extern .func (.param .b32 printed) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 words[6] = {104, 101, 108, 108, 111, 0};
.visible .entry prints(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
  mov.u64 %rd1, words;
  cvta.global.u64 %rd2, %rd1;
  mov.u64 %rd3, 0;
  mov.u32 %r1, 0;
$again:
  {
    .param .b64 format;
    .param .b64 values;
    .param .b32 printed;
    st.param.b64 [format], %rd2;
    st.param.b64 [values], %rd3;
    call.uni (printed), vprintf, (format, values);
    ld.param.b32 %r2, [printed];
  }
  add.s32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 20000;
  @%p1 bra $again;
  ret;
}
.visible .entry beyond(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .f32 %f<2>; .reg .b32 %r<2>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [y];
  ld.param.u32 %r1, [n];
  mul.wide.s32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.f32 %f1, 0f3F800000;
  st.global.f32 [%rd3], %f1;
  ret;
}
.visible .entry count(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  ld.global.u32 %r1, [counter];
  add.s32 %r2, %r1, 1;
  st.global.u32 [counter], %r2;
  st.global.u32 [%rd1], %r2;
  ret;
}
.visible .entry endless(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [y];
$again:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.ne.u32 %p1, %r1, 77;
  @%p1 bra $again;
  ret;
}
.visible .entry wild(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  mov.u64 %rd1, 16;
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}
.visible .entry traps(.param .u64 x, .param .u64 y, .param .u32 n) {
  trap;
  ret;
}
.visible .entry misaligned(.param .u64 x, .param .u64 y, .param .u32 n) {
  .reg .b32 %r<2>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [y];
  add.s64 %rd2, %rd1, 1;
  mov.u32 %r1, 1;
  st.global.u32 [%rd2], %r1;
  ret;
}
.visible .entry loses_device(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry silences_driver(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry kills_loader(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry twice_once(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry twice_of_poison(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry twice_slowly(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry idles_later(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry answers_again(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
.visible .entry dies_later(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }
)";

namespace {
constexpr float kInput[4] = {1, 2, 3, 4};
}

json gpu_view(int buffer, int64_t count, int64_t offset_bytes) {
  return {{"t", "tensor"},    {"buffer", buffer}, {"offset", offset_bytes},
          {"shape", {count}}, {"strides", {1}},   {"dtype", "float32"}};
}

const std::vector<std::string>& all_tools() {
  static const std::vector<std::string> tools{kSanitizerTools.begin(), kSanitizerTools.end()};
  return tools;
}

json gpu_launch(const std::string& kernel, int n, int threads) {
  std::string arguments(32, '0');
  for (int i = 0; i < 4; ++i)
    for (const int shift : {4, 0})
      arguments += "0123456789abcdef"[static_cast<unsigned>(n) >> (8 * i + shift) & 15];
  return {{"op", "launch"},           {"module", 0},
          {"entry", kernel},          {"grid", {1, 1, 1}},
          {"block", {threads, 1, 1}}, {"shared", 0},
          {"shared_limit", 49152},    {"cooperative", false},
          {"args", arguments},        {"relocations", {{0, 0, 0}, {8, 1, 0}}}};
}

Trace gpu_trace(const GpuRecording& recording) {
  const auto layout =
      input_layout(json::parse(R"([{"t":"tensor","shape":[4],"strides":[1],"dtype":"float32"}])")).value();
  json frame{{"kind", "trace"},
             {"buffers",
              {{{"kind", "input"}, {"bytes", 16}, {"source", 0}},
               {{"kind", "allocation"}, {"bytes", 16}},
               {{"kind", "allocation"}, {"bytes", recording.scratch_bytes}}}},
             {"ops", recording.ops},
             {"outputs", recording.output}};
  frame["construction_ops"] = recording.construction_ops;
  if (!recording.repeats.empty()) {
    frame["repeats"] = json::array();
    for (const json& ops : recording.repeats)
      frame["repeats"].push_back({{"tensors", 0}, {"ops", ops}, {"outputs", gpu_view(1, 4)}});
  }
  auto trace = Trace::parse(frame, {}, layout);
  // No assertion of the test's: plans are made by several threads at a time.
  BICRL_CHECK(trace.ok(), trace.reason());
  return std::move(trace.value());
}

GpuPlan::GpuPlan(const GpuRecording& recording, const char* text, const RunRequest& request)
    : trace(gpu_trace(recording)),
      leaves{std::string(reinterpret_cast<const char*>(kInput), sizeof kInput)},
      plan{&trace, {{std::make_shared<const std::string>(text)}}, {{"test_input", &leaves}}, {request}} {
  plan.runs[0].repeat_inputs.assign(recording.repeats.size(), 0);
}

GpuRan run_on(Backend& backend, const GpuRecording& recording, const RunRequest& request,
              std::stop_token stop) {
  const GpuPlan recorded(recording, kGpuText, request);
  GpuRan ran{backend.run(recorded.plan, std::move(stop)), "", "", {}};
  const Fault& fault = ran.result.fault ? ran.result.fault : ran.result.runs.back().fault;
  ran.fault_class = fault_name(fault);
  ran.message = fault.reason;
  if (fault) return ran;
  const RunOutcome& outcome = ran.result.runs.back();
  const auto keep = [&](const CallOutcome& call) {
    memcpy(ran.calls.emplace_back(4).data(), call.outputs.data(), sizeof kInput);
  };
  keep(outcome.first);
  for (const CallOutcome& call : outcome.repeats) keep(call);
  return ran;
}

bool has_gpu() {
  static const bool found = !find_driver_library().empty();
  return found;
}

std::unique_ptr<Backend> make_gpu_backend(const GpuOptions& options) {
  BoxHost& host = box_host();  // before what uses it, so that it outlives it
  static const PythonInstall python = PythonInstall::find(test_python());
  static ScratchFolder scratch;
  if (!has_gpu()) setenv("LD_LIBRARY_PATH", bicrl::testing::build_path("fake_driver").c_str(), 1);
  const AssemblerFor assembler = [&](const std::string& architecture) {
    return std::make_shared<Assembler>(host, python, DeviceToolchain::find(python).libraries, architecture);
  };
  return std::make_unique<GpuBackend>(host, std::make_shared<InputFiles>(scratch, 1 << 20), python, assembler,
                                      options);
}

Backend& small_gpu_backend() {
  // Made in one go: what it uses is made before it and outlives it.
  static const std::unique_ptr<Backend> backend =
      make_gpu_backend({.processes = 2, .run_s = 1, .max_buffer_bytes = 1ull << 30});
  return *backend;
}

}  // namespace bicrl::testing
