// The replay program on programs of our own: outputs, faults, and what a candidate might try in it.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "tests/sandbox/replay_support.h"
#include "tests/support/support.h"

namespace bicrl::testing {
namespace {

// One module for all tests, since compiling is what takes time.
constexpr const char* kCuda = R"(
#include <torch/extension.h>
#include <cuda_runtime.h>
extern "C" {
int fork();
int pause();
int getpid();
void _exit(int);
long write(int, const void*, unsigned long);
}
__constant__ float factor[1];
__device__ int calls;
__global__ void scale_add_kernel(const float* x, const float* y, float* out, int n) {
  __shared__ float tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = factor[0] * tile[threadIdx.x] + y[i];
}
// `at` picks the element that is written beside the others.
__global__ void touch_kernel(float* out, int n, int at) {
  if (threadIdx.x < n) out[threadIdx.x] = 1;
  if (threadIdx.x == 0) out[at] = 2;
}
__global__ void copy_kernel(const float* from, float* to, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) to[i] = from[i];
}
__global__ void count_kernel(float* out) { out[0] = ++calls; }
__global__ void whim_kernel(float* out) { out[0] = getpid(); }
__global__ void leave_kernel(float* out) { _exit(0); }
__global__ void forge_kernel(float* out) {
  for (int fd = 3; fd < 64; ++fd) write(fd, "d", 1);
  for (;;) pause();
}
__global__ void spawn_kernel(float* out) {
  const int child = fork();
  if (child == 0)
    for (;;) pause();
  out[0] = child < 0 ? -1 : 1;
}
__global__ void odd_barrier_kernel(float* out) {
  if (threadIdx.x % 2) __syncthreads();
  else { out[0] = 1; __syncthreads(); }
}
__global__ void endless_kernel(float* out) {
  for (;;) pause();
}
__global__ void trap_kernel(float* out) { __trap(); }

torch::Tensor scale_add(torch::Tensor x, torch::Tensor y) {
  const float three = 3;
  cudaMemcpyToSymbol(factor, &three, sizeof three);
  auto out = torch::empty_like(x);
  const int n = x.numel();
  scale_add_kernel<<<(n + 63) / 64, 64>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}
torch::Tensor touch(torch::Tensor x, int at) {
  auto out = torch::empty_like(x);
  touch_kernel<<<1, 64>>>(out.data_ptr<float>(), x.numel(), at);
  return out;
}
torch::Tensor touch_behind(torch::Tensor x) { return touch(x, x.numel()); }
torch::Tensor touch_before(torch::Tensor x) { return touch(x, -1); }
torch::Tensor touch_far(torch::Tensor x) { return touch(x, x.numel() + 20000000); }
torch::Tensor stale(torch::Tensor x) {
  auto fresh = torch::empty_like(x), out = torch::empty_like(x);
  copy_kernel<<<1, 32>>>(fresh.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  return out;
}
#define ONE(name, kernel, threads)                      \
  torch::Tensor name(torch::Tensor x) {                 \
    auto out = torch::empty_like(x);                    \
    kernel<<<1, threads>>>(out.data_ptr<float>());      \
    return out;                                         \
  }
ONE(count, count_kernel, 1)
ONE(whim, whim_kernel, 1)
ONE(leave, leave_kernel, 1)
ONE(forge, forge_kernel, 1)
ONE(spawn, spawn_kernel, 1)
ONE(odd_barrier, odd_barrier_kernel, 32)
ONE(endless, endless_kernel, 1)
ONE(trap, trap_kernel, 1)
)";

const std::filesystem::path& module_path() {
  static const TemporaryFolder folder;
  static const std::filesystem::path path = [] {
    const std::vector<std::string> unary = {"touch_behind", "touch_before", "touch_far", "stale",
                                            "count",        "whim",         "leave",     "forge",
                                            "spawn",        "odd_barrier",  "trap",      "endless"};
    std::string declarations = "torch::Tensor scale_add(torch::Tensor x, torch::Tensor y);\n";
    for (const auto& name : unary) declarations += "torch::Tensor " + name + "(torch::Tensor x);\n";
    std::vector<std::string> functions = unary;
    functions.push_back("scale_add");
    return compile_module(folder.path(), kCuda, declarations, functions);
  }();
  return path;
}

std::vector<float> ramp(size_t n, float first) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

// A replay of a function of one tensor, of which only the shape matters.
struct OneInput {
  explicit OneInput(const std::string& function, int draws = 1, int64_t elements = 4)
      : trace(record_call(module_path(), function, {{elements}})) {
    request.module = module_path();
    request.trace = &trace;
    request.draws.assign(static_cast<size_t>(draws), {bytes_of(ramp(static_cast<size_t>(elements), 0))});
  }
  OneInput(const OneInput&) = delete;
  ReplayReply run(std::vector<std::string> more = {}) {
    request.more = std::move(more);
    return replay(request);
  }
  Trace trace;
  ReplayRequest request;
};

float float_of_bytes(uint8_t byte) {
  const uint8_t bytes[4] = {byte, byte, byte, byte};
  float value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("a replayed launch computes each draw from its own inputs", "[replay]") {
  const Trace trace = record_call(module_path(), "scale_add", {{100}, {100}});
  REQUIRE(trace.launches() == 1);
  ReplayRequest request{module_path(), &trace, {}, 0xa5, {}};
  for (const float first : {0.0f, 1000.0f, -50.0f})
    request.draws.push_back({bytes_of(ramp(100, first)), bytes_of(ramp(100, 7))});
  for (const std::string order : {"forward", "reverse"}) {
    request.more = {"--thread-order", order, "--repeat", "3"};
    const ReplayReply reply = replay(request);
    REQUIRE(reply.code == 0);
    for (size_t d = 0; d < 3; ++d) {
      INFO(order << " " << reply.draws.dump());
      REQUIRE(reply.status(d) == "ok");
      REQUIRE(reply.draws[d]["run_ms"].size() == 3);
      const float first = d == 0 ? 0.0f : d == 1 ? 1000.0f : -50.0f;
      const auto values = reply.floats(trace, d);
      for (size_t i = 0; i < 100; ++i)
        REQUIRE(values[i] == 3 * (first + static_cast<float>(i)) + 7 + static_cast<float>(i));
    }
  }
}

TEST_CASE("without its launches a replay leaves what fresh memory holds", "[replay]") {
  const Trace trace = record_call(module_path(), "scale_add", {{100}, {100}});
  const std::vector<std::string> inputs = {bytes_of(ramp(100, 0)), bytes_of(ramp(100, 7))};
  const ReplayReply reply = replay({module_path(), &trace, {inputs, inputs}, 0x11, {"--skip-launches"}});
  REQUIRE(reply.code == 0);
  for (const size_t d : {0, 1}) {
    REQUIRE(reply.status(d) == "ok");
    for (const float v : reply.floats(trace, d)) REQUIRE(v == float_of_bytes(d == 0 ? 0x11 : 0xee));
  }
}

TEST_CASE("fresh memory and globals are fresh in each run, and odd draws find other rubbish", "[replay]") {
  OneInput stale("stale", 2);
  stale.request.poison = 0x21;
  const ReplayReply reply = stale.run({"--repeat", "2"});
  REQUIRE(reply.floats(stale.trace, 0) == std::vector<float>(4, float_of_bytes(0x21)));
  REQUIRE(reply.floats(stale.trace, 1) == std::vector<float>(4, float_of_bytes(0xde)));

  OneInput count("count", 2);
  const ReplayReply counted = count.run({"--repeat", "3"});
  for (const size_t d : {0, 1}) {
    REQUIRE(counted.status(d) == "ok");
    REQUIRE(counted.floats(count.trace, d)[0] == 1);
  }
}

TEST_CASE("an access past either end of a buffer is found, and its draw has no outputs", "[replay]") {
  OneInput behind("touch_behind", 2), before("touch_before", 2);
  const ReplayReply past = behind.run(), early = before.run();
  REQUIRE(past.status(0) == "illegal_access");
  REQUIRE(past.draws[0]["message"].get<std::string>().find("touch_kernel") != std::string::npos);
  REQUIRE(past.draws[0]["run_ms"].empty());
  REQUIRE(past.floats(behind.trace, 0) == std::vector<float>(4, float_of_bytes(behind.request.poison)));
  REQUIRE(past.status(1) == "ok");
  REQUIRE(early.status(0) == "ok");
  REQUIRE(early.status(1) == "illegal_access");
}

TEST_CASE("faults that the engine finds keep their class", "[replay]") {
  const ReplayReply barrier = OneInput("odd_barrier").run();
  REQUIRE(barrier.status(0) == "illegal_access");
  REQUIRE(barrier.draws[0]["message"].get<std::string>().find("divergent") != std::string::npos);
  const ReplayReply trap = OneInput("trap").run();
  REQUIRE(trap.status(0) != "ok");
  REQUIRE(trap.draws[0]["message"].get<std::string>().find("trap") != std::string::npos);
}

TEST_CASE("a kernel that ends its process has not finished", "[replay]") {
  OneInput leave("leave", 2);
  const ReplayReply reply = leave.run();
  REQUIRE(reply.code == 0);
  for (const size_t d : {0, 1}) REQUIRE(reply.status(d) == "fault");
}

TEST_CASE("a run that does not end is ended at its limit", "[replay]") {
  const ReplayReply reply = OneInput("endless", 2).run({"--run-limit-ms", "100.5"});
  REQUIRE(reply.code == 0);
  for (const size_t d : {0, 1}) REQUIRE(reply.status(d) == "timeout");
}

TEST_CASE("a forged end stops the run before it has outputs", "[replay]") {
  OneInput forge("forge");
  const ReplayReply reply = forge.run();
  REQUIRE(reply.code == 0);
  REQUIRE(reply.floats(forge.trace, 0) == std::vector<float>(4, float_of_bytes(forge.request.poison)));
}

TEST_CASE("runs that disagree are told", "[replay]") {
  OneInput whim("whim");
  REQUIRE(whim.run({"--repeat", "5"}).status(0) == "nondeterministic");
}

TEST_CASE("a kernel gets no process of its own", "[replay]") {
  OneInput spawn("spawn");
  REQUIRE(spawn.run().status(0) == "process");
}

TEST_CASE("an access far from a buffer finds no other one", "[replay]") {
  OneInput far("touch_far", 2, 1 << 20);
  const ReplayReply reply = far.run();
  for (const size_t d : {0, 1}) REQUIRE(reply.status(d) == "illegal_access");
}

TEST_CASE("a trace cannot launch what is no code of its module", "[replay]") {
  OneInput count("count");
  for (auto& op : count.trace.ops) op.entry = 0;  // the file's header
  REQUIRE(count.run().status(0) == "cheating");
  OneInput symbol("count");
  symbol.trace.blobs.push_back("12345678");
  TraceOp upload;
  upload.kind = TraceOp::Kind::kSymbolUpload;
  upload.blob = static_cast<uint32_t>(symbol.trace.blobs.size() - 1);
  upload.symbol_offset = symbol.trace.ops[0].entry;
  symbol.trace.ops.push_back(upload);
  REQUIRE(symbol.run().status(0) == "illegal_access");
}

TEST_CASE("fills, converting copies, uploads and strided outputs", "[replay]") {
  const auto view = [](uint32_t buffer, std::vector<int64_t> shape, std::vector<int64_t> strides,
                       const char* dtype, uint64_t offset = 0) {
    return nlohmann::json{{"t", "tensor"},  {"buffer", buffer},   {"offset", offset},
                          {"shape", shape}, {"strides", strides}, {"dtype", dtype}};
  };
  nlohmann::json frame{{"kind", "trace"}};
  frame["buffers"] = {{{"kind", "input"}, {"bytes", 24}, {"source", 0}},
                      {{"kind", "allocation"}, {"bytes", 48}},
                      {{"kind", "constant"}, {"bytes", 4}, {"blob", 0}},
                      {{"kind", "allocation"}, {"bytes", 8}}};
  // [2, 3] of floats becomes integers; then its middle column is 9; an upload makes one float after a
  // constant.
  frame["ops"] = {
      {{"op", "copy"},
       {"target", view(1, {2, 3}, {3, 1}, "int64")},
       {"source", view(0, {2, 3}, {3, 1}, "float32")}},
      {{"op", "fill"}, {"target", view(1, {2}, {3}, "int64", 8)}, {"value", "0900000000000000"}},
      {{"op", "copy"}, {"target", view(3, {1}, {1}, "float32")}, {"source", view(2, {1}, {1}, "float32")}},
      {{"op", "upload"}, {"buffer", 3}, {"offset", 4}, {"blob", 1}}};
  frame["outputs"] = {
      {"t", "tuple"},
      {"items",
       {view(1, {3, 2}, {1, 3}, "int64"), view(3, {2}, {1}, "float32"), view(0, {3, 2}, {1, 3}, "float32")}}};
  const auto layout =
      input_layout(nlohmann::json::parse(R"([{"t":"tensor","shape":[2,3],"dtype":"float32"}])"));
  const auto trace = Trace::parse(frame, {bytes_of({0.5f}), bytes_of({-2.0f})}, layout.value());
  INFO((trace ? "" : trace.reason()));
  REQUIRE(trace.ok());
  const ReplayReply reply = replay(
      {module_path(), &trace.value(), {{bytes_of(ramp(6, 0))}, {bytes_of(ramp(6, 10.75f))}}, 0xa5, {}});
  REQUIRE(reply.code == 0);
  for (const size_t d : {0, 1}) {
    REQUIRE(reply.status(d) == "ok");
    std::vector<int64_t> whole(6);
    memcpy(whole.data(), reply.outputs.data() + d * trace.value().output_layout().draw_bytes, 48);
    const int64_t first = d == 0 ? 0 : 10;
    REQUIRE(whole == std::vector<int64_t>{first, first + 3, 9, 9, first + 2, first + 5});
    REQUIRE(reply.floats(trace.value(), d, 1) == std::vector<float>{0.5f, -2.0f});
    const float real = d == 0 ? 0.0f : 10.75f;
    REQUIRE(reply.floats(trace.value(), d, 2) ==
            std::vector<float>{real, real + 3, real + 1, real + 4, real + 2, real + 5});
  }
}

TEST_CASE("bad arguments and files end the replay program with status 2", "[replay]") {
  OneInput count("count");
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--draws", "0"},
                                             {"--poison", "256"},
                                             {"--repeat", "x"},
                                             {"--thread-order", "sideways"},
                                             {"--what", "1"},
                                             {"--repeat"},
                                             {"--run-limit-ms", "-1"},
                                             {"--draws", "2"},
                                             {"--module", "/absent.so"},
                                             {"--trace", "/dev/null"},
                                             {"--output-fd", "999"}}) {
    INFO(bad[0] << " " << bad.back());
    REQUIRE(count.run(bad).code == 2);
  }
}

}  // namespace bicrl::testing
