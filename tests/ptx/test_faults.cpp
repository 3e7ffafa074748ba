// What is wrong with a kernel is found at its first wrong step, to the byte, and named.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::fault_text;
using testing::KernelRunner;
using testing::RunnerOptions;

void check_fault(const std::optional<KernelFault>& fault, FaultClass fault_class, const std::string& words) {
  REQUIRE(fault);
  INFO(fault_text(fault));
  CHECK(to_string(fault->fault_class) == to_string(fault_class));
  CHECK_THAT(fault_text(fault), ContainsSubstring(words));
}

}  // namespace

TEST_CASE("bounds of buffers, to the byte") {
  KernelRunner runner(R"(
    template <class T> __device__ void copy(const T* from, T* to) { *to = *from; }
    extern "C" __global__ void copy1(const char* f, char* t) { copy<char>(f, t); }
    extern "C" __global__ void copy4(const char* f, char* t) { copy<int>((const int*)f, (int*)t); }
    extern "C" __global__ void copy16(const char* f, char* t) { copy<int4>((const int4*)f, (int4*)t); }
    extern "C" __global__ void add(const char*, char* t) { atomicAdd((int*)t, 1); })");
  const uint64_t bytes = 40;
  const uint64_t from = runner.upload(std::vector<char>(bytes)), to = runner.upload(std::vector<char>(bytes));
  const uint64_t constant = runner.upload(std::vector<char>(bytes), DeviceMemory::Permission::kReadOnly);
  const auto run = [&](const std::string& kernel, uint64_t f, uint64_t t) {
    return runner.launch(kernel, {1, 1, 1}, {1, 1, 1}, 0, f, t);
  };
  struct Case {
    const char* kernel;
    uint64_t size;
  };
  for (const Case& c : {Case{"copy1", 1}, Case{"copy4", 4}, Case{"copy16", 16}}) {
    INFO(c.kernel);
    const uint64_t last = (bytes - c.size) / c.size * c.size;
    CHECK(!run(c.kernel, from, to));
    CHECK(!run(c.kernel, from + last, to + last));
    CHECK(!run(c.kernel, constant, to));
    const uint64_t beyond = last + c.size;
    const char* words = beyond < bytes ? "across the end" : "outside of every buffer";
    check_fault(run(c.kernel, from + beyond, to), FaultClass::kIllegalAccess, words);
    check_fault(run(c.kernel, from, to + beyond), FaultClass::kIllegalAccess, words);
    check_fault(run(c.kernel, from - c.size, to), FaultClass::kIllegalAccess,
                "a read outside of every buffer");
    check_fault(run(c.kernel, from, to - c.size), FaultClass::kIllegalAccess,
                "a write outside of every buffer");
    check_fault(run(c.kernel, 0, to), FaultClass::kIllegalAccess, "outside");
    check_fault(run(c.kernel, from, ~uint64_t{0} - c.size + 1), FaultClass::kIllegalAccess, "outside");
    check_fault(run(c.kernel, from, constant), FaultClass::kIllegalAccess, "only be read");
    if (c.size > 1) check_fault(run(c.kernel, from + 1, to), FaultClass::kIllegalAccess, "multiple");
  }
  CHECK(!run("add", from, to + bytes - 4));
  check_fault(run("add", from, to + bytes), FaultClass::kIllegalAccess, "outside");
  check_fault(run("add", from, constant), FaultClass::kIllegalAccess, "only be read");
  check_fault(run("add", from, to + 2), FaultClass::kIllegalAccess, "multiple");
}

TEST_CASE("one lane of many is named, and the line of the text") {
  KernelRunner runner(R"(
    extern "C" __global__ void one_too_many(float* out, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i <= n)
        out[i] = 1;
    })");
  const uint64_t out = runner.reserve(100 * 4);
  CHECK(!runner.launch("one_too_many", {1, 1, 1}, {128, 1, 1}, 0, out, 99));
  const auto fault = runner.launch("one_too_many", {2, 1, 1}, {64, 1, 1}, 0, out, 100);
  check_fault(fault, FaultClass::kIllegalAccess, "(block 1, 0, 0, thread 36, 0, 0)");
  CHECK(fault->kernel == "one_too_many");
  CHECK(fault->source_line == 5);
}

TEST_CASE("shared memory: the window of each variable, and what was never written") {
  KernelRunner runner(R"(
    extern "C" __global__ void neighbours(int* out, int at, int read) {
      __shared__ int a[8], b[8];
      if (threadIdx.x < 8) a[threadIdx.x] = b[threadIdx.x] = 7;
      __syncthreads();
      if (read) out[0] = a[at] + b[0];
      else a[at] = 3;
    }
    extern "C" __global__ void dynamic(int* out, int at) {
      extern __shared__ int s[];
      s[at] = 1;
      out[0] = s[at];
    }
    extern "C" __global__ void halves(int* out, int n) {
      __shared__ int s[32];
      if (threadIdx.x < n) s[threadIdx.x] = 1;
      __syncthreads();
      out[threadIdx.x] = s[threadIdx.x] > 0 ? 5 : 6;
    }
    extern "C" __global__ void sums(int* out, int n) {
      __shared__ int s[32];
      if (threadIdx.x < n) s[threadIdx.x] = 1;
      __syncthreads();
      out[threadIdx.x] = s[threadIdx.x] + 1;
    })");
  const uint64_t out = runner.reserve(32 * 4);
  for (const int read : {0, 1}) {
    CHECK(!runner.launch("neighbours", {1, 1, 1}, {32, 1, 1}, 0, out, 7, read));
    for (const int at : {8, -1, 15, 100000})
      check_fault(runner.launch("neighbours", {1, 1, 1}, {32, 1, 1}, 0, out, at, read),
                  FaultClass::kIllegalAccess, "outside of shared memory");
  }
  CHECK(!runner.launch("dynamic", {1, 1, 1}, {1, 1, 1}, 40, out, 9));
  check_fault(runner.launch("dynamic", {1, 1, 1}, {1, 1, 1}, 40, out, 10), FaultClass::kIllegalAccess,
              "shared");
  check_fault(runner.launch("dynamic", {1, 1, 1}, {1, 1, 1}, 0, out, 0), FaultClass::kIllegalAccess,
              "shared");

  CHECK(!runner.launch("halves", {1, 1, 1}, {32, 1, 1}, 0, out, 32));
  // A sum of what was never written is no fault: nobody may look at it. The output says so.
  CHECK(!runner.launch("sums", {1, 1, 1}, {32, 1, 1}, 0, out, 31));
  const auto& buffer = runner.buffer(out);
  CHECK(buffer.undefined[30 * 4] == 0);
  CHECK(buffer.undefined[31 * 4] != 0);
  CHECK(static_cast<Writer>(buffer.writers[31 * 4]) == Writer::kKernel);
}

TEST_CASE("what was never written reaches an address or a branch") {
  KernelRunner runner(R"(
    extern "C" __global__ void address(const int* index, int* out) { out[index[threadIdx.x]] = 1; }
    extern "C" __global__ void branch(const int* flag, int* out) {
      if (flag[threadIdx.x] > 3) { out[0] = 1; __threadfence(); out[1] = 2; }
      else { out[2] = 1; __threadfence(); out[3] = 2; }
    })");
  const uint64_t never = runner.reserve(32 * 4), out = runner.reserve(32 * 4);
  const uint64_t written = runner.upload(std::vector<int>(32, 1));
  for (const char* kernel : {"address", "branch"}) {
    INFO(kernel);
    CHECK(!runner.launch(kernel, {1, 1, 1}, {32, 1, 1}, 0, written, out));
    check_fault(runner.launch(kernel, {1, 1, 1}, {32, 1, 1}, 0, never, out), FaultClass::kUninitialised,
                "was never written");
  }
}

TEST_CASE("what was never written passes through votes of a block") {
  KernelRunner runner(R"(
    extern "C" __global__ void votes(const int* flag, int* out) {
      out[0] = __syncthreads_or(flag[threadIdx.x]);
      out[1] = __syncthreads_and(flag[threadIdx.x]);
      out[2] = __syncthreads_count(flag[threadIdx.x]);
    })");
  const uint64_t out = runner.reserve(12), known = runner.upload(std::vector<int>(64, 1));
  CHECK(!runner.launch("votes", {1, 1, 1}, {64, 1, 1}, 0, known, out));
  CHECK(std::all_of(runner.buffer(out).undefined.get(), runner.buffer(out).undefined.get() + 12,
                    [](uint8_t bits) { return bits == 0; }));
  // What one thread votes is enough for the vote of all.
  const uint64_t partly = runner.reserve(64 * 4);
  runner.fill(partly, std::vector<int>(63, 1));
  CHECK(!runner.launch("votes", {1, 1, 1}, {64, 1, 1}, 0, partly, out));
  for (int word = 0; word < 3; ++word) CHECK(runner.buffer(out).undefined[word * 4] != 0);
}

TEST_CASE("without shadows, what was never written is a NaN in every format") {
  KernelRunner runner(R"(
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    extern "C" __global__ void widen(const void* x, double* out) {
      out[0] = __half2float(*(const __half*)x);
      out[1] = __bfloat162float(*(const __nv_bfloat16*)x);
      out[2] = *(const float*)x;
      out[3] = *(const double*)x;
    })",
                      {.shadows = false, .compiler_options = {}, .ptx = ""});
  const uint64_t out = runner.reserve(32);
  CHECK(!runner.launch("widen", {1, 1, 1}, {1, 1, 1}, 0, runner.reserve(8), out));
  for (const double value : runner.download<double>(out)) CHECK(value != value);
}

TEST_CASE("launches that no device accepts") {
  KernelRunner runner(R"(
    extern "C" __global__ void plain(int n) {}
    extern "C" __global__ void __launch_bounds__(128) bounded(int n) {}
    extern "C" __global__ void shared(int n) {
      __shared__ int s[10000];
      extern __shared__ int d[];
      s[threadIdx.x] = d[threadIdx.x] = n;
      __syncthreads();
      if (s[31 - threadIdx.x] != n) __trap();
    })");
  const int n = 1;
  CHECK(!runner.launch("plain", {3, 2, 1}, {1024, 1, 1}, 0, n));
  for (const Dim3 block : {Dim3{1025, 1, 1}, Dim3{32, 33, 1}, Dim3{1, 1, 65}, Dim3{0, 1, 1}})
    check_fault(runner.launch("plain", {1, 1, 1}, block, 0, n), FaultClass::kLaunch, "");
  for (const Dim3 grid : {Dim3{0, 1, 1}, Dim3{1, 65536, 1}, Dim3{1, 1, 65536}})
    check_fault(runner.launch("plain", grid, {1, 1, 1}, 0, n), FaultClass::kLaunch, "dimension");
  CHECK(!runner.launch("bounded", {1, 1, 1}, {128, 1, 1}, 0, n));
  check_fault(runner.launch("bounded", {1, 1, 1}, {129, 1, 1}, 0, n), FaultClass::kLaunch, "bounds");
  CHECK(!runner.launch("shared", {1, 1, 1}, {32, 1, 1}, 227 * 1024 - 40000, n));
  check_fault(runner.launch("shared", {1, 1, 1}, {32, 1, 1}, 227 * 1024 - 40000 + 1, n), FaultClass::kLaunch,
              "shared");
  check_fault(runner.launch("plain", {1, 1, 1}, {1, 1, 1}, 0, n, n), FaultClass::kLaunch, "parameters");
}

TEST_CASE("barriers that never complete, and traps, assertions and endless loops") {
  KernelRunner runner(
      R"(
    extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
    #define assert(e) if (!(e)) __assertfail(#e, __FILE__, __LINE__, __func__, 1)
    extern "C" __global__ void half(int* out) {
      if (threadIdx.x < 16) __syncthreads();
      else while (*(volatile int*)out == 0) {}
    }
    extern "C" __global__ void early(int* out) {
      if (threadIdx.x >= 40) return;
      __syncthreads();
      out[threadIdx.x] = 1;
    }
    extern "C" __global__ void two(int* out) {
      if (threadIdx.x < 32) asm volatile("bar.sync 1;");
      else asm volatile("bar.sync 2;");
    }
    extern "C" __global__ void lonely(int* out) {
      if (threadIdx.x == 3) out[0] = __shfl_sync(0xffffffff, threadIdx.x, 0);
      else __syncthreads();
    }
    extern "C" __global__ void stranger(int* out) {
      if (threadIdx.x == 3) out[0] = __shfl_sync(0x7, threadIdx.x, 0);
    }
    extern "C" __global__ void traps(int* out) { if (threadIdx.x == 5) __trap(); }
    extern "C" __global__ void asserts(int* out) { assert(threadIdx.x < 9); }
    extern "C" __global__ void endless(int* out) { while (true) if (*(volatile int*)out == 77) break; }
    extern "C" __global__ void busy(int* out) { int x = 1; while (x != 0) x = x * 3 + 2 * (x & 1); out[0] = x; })",
      {.shadows = true, .compiler_options = {}, .limits = {.lane_operations = 100'000'000}, .ptx = ""});
  const uint64_t out = runner.upload(std::vector<int>(64));
  const auto run = [&](const char* kernel) { return runner.launch(kernel, {1, 1, 1}, {64, 1, 1}, 0, out); };
  check_fault(run("half"), FaultClass::kTimeout, "operations");
  CHECK(!run("early"));
  check_fault(run("two"), FaultClass::kBarrier, "barrier");
  check_fault(run("lonely"), FaultClass::kBarrier, "never");
  check_fault(run("stranger"), FaultClass::kBarrier, "mask");
  check_fault(run("traps"), FaultClass::kTrap, "thread 5, 0, 0");
  check_fault(run("asserts"), FaultClass::kTrap, "thread 9, 0, 0");
  check_fault(run("endless"), FaultClass::kTimeout, "operations");
  check_fault(run("busy"), FaultClass::kTimeout, "operations");
}

TEST_CASE("empty blocks and expensive operations count as what they take") {
  testing::KernelRunner runner(R"(
    extern "C" __global__ void empty(int* out) {}
    extern "C" __global__ void board(int* out) { __shared__ volatile int s[12000]; s[threadIdx.x] = 1; }
    extern "C" __global__ void adds(int* out, int n) { for (int i = 0; i < n; ++i) atomicAdd(out, 1); }
    extern "C" __global__ void swaps(int* out, int n) {
      int x = threadIdx.x;
      for (int i = 0; i < n; ++i) x += __shfl_xor_sync(~0u, x, i & 31);
      out[threadIdx.x] = x;
    })",
                               {.shadows = false,
                                .compiler_options = {},
                                .limits = {.lane_operations = uint64_t{1} << 24},
                                .ptx = ""});
  const uint64_t out = runner.upload(std::vector<int>(64));
  CHECK(!runner.launch("empty", {4096, 1, 1}, {1, 1, 1}, 0, out));
  check_fault(runner.launch("empty", {1U << 30, 1, 1}, {1, 1, 1}, 0, out), FaultClass::kTimeout,
              "operations");
  CHECK(!runner.launch("board", {64, 1, 1}, {32, 1, 1}, 0, out));
  check_fault(runner.launch("board", {4096, 1, 1}, {32, 1, 1}, 0, out), FaultClass::kTimeout, "operations");
  for (const char* kernel : {"adds", "swaps"}) {
    CHECK(!runner.launch(kernel, {1, 1, 1}, {32, 1, 1}, 0, out, 2'000));
    check_fault(runner.launch(kernel, {1, 1, 1}, {32, 1, 1}, 0, out, 100'000), FaultClass::kTimeout,
                "operations");
  }
}

}  // namespace bicrl::ptx
