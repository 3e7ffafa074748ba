// Asynchronous copies and barriers in shared memory.
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>

#include "sandbox/interpreter/ptx/syntax/parser.h"
#include "tests/ptx/kernel_runner.h"

namespace bicrl::ptx {
namespace {

using Catch::Matchers::StartsWith;
using testing::fault_text;
using testing::KernelRunner;

std::vector<int> numbers(int count) {
  std::vector<int> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

}  // namespace

TEST_CASE("a pipeline of copies in several stages") {
  KernelRunner runner(R"(
    #include <cuda_pipeline.h>
    extern "C" __global__ void sums(const int4* in, int* out, int steps) {
      __shared__ int4 stage[3][64];
      int sum = 0;
      for (int i = 0; i < 2; ++i) {
        __pipeline_memcpy_async(&stage[i][threadIdx.x], in + i * 64 + threadIdx.x, 16);
        __pipeline_commit();
      }
      for (int i = 0; i < steps; ++i) {
        __pipeline_wait_prior(1);
        __syncthreads();
        int4 v = stage[i % 3][63 - threadIdx.x];
        sum += v.x + 3 * v.y + 5 * v.z + 7 * v.w;
        if (i + 2 < steps)
          __pipeline_memcpy_async(&stage[(i + 2) % 3][threadIdx.x], in + (i + 2) * 64 + threadIdx.x, 16);
        __pipeline_commit();
      }
      out[threadIdx.x] = sum;
    })");
  const int steps = 9;
  const auto in = numbers(steps * 256);
  const uint64_t out = runner.reserve(256);
  REQUIRE(fault_text(runner.launch("sums", {1, 1, 1}, {64, 1, 1}, 0, runner.upload(in), out, steps)) == "");
  for (size_t thread = 0; thread < 64; ++thread) {
    int sum = 0;
    for (size_t i = 0; i < steps; ++i)
      for (size_t j = 0; j < 4; ++j) sum += static_cast<int>(2 * j + 1) * in[i * 256 + (63 - thread) * 4 + j];
    CHECK(runner.download<int>(out)[thread] == sum);
  }
}

TEST_CASE("what a copy has not brought yet is poison") {
  const std::string text = R"(
    #include <cuda_pipeline.h>
    extern "C" __global__ void early(const float* in, float* out, int wait, int branch) {
      __shared__ float stage[64];
      stage[threadIdx.x] = 1;
      __pipeline_memcpy_async(&stage[threadIdx.x], in + threadIdx.x, 4);
      __pipeline_commit();
      if (wait >= 1) __pipeline_wait_prior(wait - 1);
      float v = *(volatile float*)&stage[threadIdx.x];
      out[threadIdx.x] = v;
      if (branch) out[(int)v & 63] = v;
    })";
  const std::vector<float> in(64, 2.5F);
  for (const bool shadows : {true, false}) {
    KernelRunner runner(text, {.shadows = shadows, .compiler_options = {}, .limits = {}, .ptx = ""});
    const uint64_t from = runner.upload(in), out = runner.reserve(256);
    const auto run = [&](int wait, int branch) {
      return fault_text(runner.launch("early", {1, 1, 1}, {64, 1, 1}, 0, from, out, wait, branch));
    };
    CHECK(run(1, 1) == "");  // waits for all groups but 0
    CHECK(runner.download<float>(out) == in);
    for (const int wait : {0, 2}) {  // not at all; for all groups but the last
      CHECK(run(wait, 0) == "");
      for (float value : runner.download<float>(out)) CHECK(std::isnan(value));
      if (shadows) {
        CHECK(runner.buffer(out).undefined[0] == 0xFF);
        CHECK_THAT(run(wait, 1), StartsWith("uninitialised: "));
      }
    }
  }
}

TEST_CASE("copies of part of their size fill up with zeros, and read no more than they say") {
  KernelRunner runner(R"(
    __device__ unsigned to(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
    extern "C" __global__ void parts(const char* in, unsigned char* out, int bytes, int skip, int shift) {
      __shared__ __align__(16) unsigned char stage[4][16];
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to(stage[0])), "l"(in), "r"(bytes));
      asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;" :: "r"(to(stage[1])), "l"(in + 8), "r"(bytes / 2));
      asm volatile("{.reg .pred p; setp.ne.s32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p;}"
                   :: "r"(to(stage[2])), "l"(in), "r"(skip));
      asm volatile("cp.async.ca.shared.global [%0+4], [%1+4], 4;" :: "r"(to(stage[2]) + shift), "l"(in));
      asm volatile("cp.async.wait_all;");
      for (int i = 0; i < 24; ++i) out[i] = stage[i / 16][i % 16];
      for (int i = 0; i < 8; ++i) out[24 + i] = stage[2][i];
    })");
  std::vector<char> in(16);
  std::iota(in.begin(), in.end(), char{1});
  const uint64_t whole = runner.upload(in), out = runner.reserve(32);
  const auto run = [&](uint64_t from, int bytes, int skip, int shift = 0) {
    return fault_text(runner.launch("parts", {1, 1, 1}, {1, 1, 1}, 0, from, out, bytes, skip, shift));
  };
  for (const int bytes : {16, 11, 0}) {
    REQUIRE(run(whole, bytes, bytes == 11) == "");
    const auto found = runner.download<char>(out);
    for (int i = 0; i < 16; ++i) CHECK(found[static_cast<size_t>(i)] == (i < bytes ? i + 1 : 0));
    for (int i = 0; i < 8; ++i) CHECK(found[static_cast<size_t>(16 + i)] == (i < bytes / 2 ? i + 9 : 0));
    for (int i = 0; i < 4; ++i) CHECK(found[static_cast<size_t>(24 + i)] == (bytes == 11 ? 0 : i + 1));
    for (int i = 0; i < 4; ++i) CHECK(found[static_cast<size_t>(28 + i)] == i + 5);
  }
  CHECK_THAT(run(whole, 17, 0), StartsWith("illegal_access: a copy that reads more than it has room for"));
  CHECK_THAT(run(whole + 4, 12, 0),
             StartsWith("illegal_access: an address that is not a multiple of the 16"));
  CHECK_THAT(run(whole, 16, 0, 2), StartsWith("illegal_access: an address that is not a multiple of the 4"));
  CHECK_THAT(run(whole, 16, 0, 64), StartsWith("illegal_access: a write"));
  const uint64_t part = runner.upload(std::vector<char>(12));
  CHECK(run(part, 8, 0) == "");
  CHECK_THAT(run(part, 13, 0), StartsWith("illegal_access: a read of 13 bytes across the end"));
  CHECK_THAT(run(0, 16, 0), StartsWith("illegal_access: a read outside"));
}

TEST_CASE("barriers in shared memory: threads, phases and copies that arrive") {
  KernelRunner runner(R"(
    #include <cuda/barrier>
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    extern "C" __global__ void turns(int* out, int rounds) {
      __shared__ barrier bar;
      __shared__ int sum[2];
      if (threadIdx.x == 0) { init(&bar, blockDim.x); sum[0] = sum[1] = 0; }
      __syncthreads();
      for (int i = 0; i < rounds; ++i) {
        atomicAdd(&sum[i % 2], (int)threadIdx.x + i);
        bar.arrive_and_wait();
        if (threadIdx.x == 0) { out[i] = sum[i % 2]; sum[i % 2] = 0; }
        bar.arrive_and_wait();
      }
    }
    // Half of the block produces, the other half consumes.
    extern "C" __global__ void pipe(const int* in, int* out, int rounds) {
      __shared__ barrier full[2], empty[2];
      __shared__ int stage[2][64];
      if (threadIdx.x < 2) { init(&full[threadIdx.x], 128); init(&empty[threadIdx.x], 128); }
      __syncthreads();
      int lane = threadIdx.x % 64;
      if (threadIdx.x >= 64) {
        for (int i = 0; i < rounds; ++i) {
          empty[i % 2].arrive_and_wait();
          cuda::memcpy_async(&stage[i % 2][lane], in + i * 64 + lane, cuda::aligned_size_t<4>(4), full[i % 2]);
          (void)full[i % 2].arrive();
        }
      } else {
        (void)empty[0].arrive(); (void)empty[1].arrive();
        int sum = 0;
        for (int i = 0; i < rounds; ++i) {
          full[i % 2].arrive_and_wait();
          sum += stage[i % 2][63 - lane] * (i + 1);
          (void)empty[i % 2].arrive();
        }
        out[lane] = sum;
      }
    }
    extern "C" __global__ void noinc(const int* in, int* out) {
      __shared__ int stage[32];
      __shared__ unsigned long long bar;
      unsigned b = (unsigned)__cvta_generic_to_shared(&bar), s = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);
      if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(b));
      __syncwarp();
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(in + threadIdx.x));
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(b));
      unsigned done = 0, previous;
      while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(b), "r"(0) : "memory");
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(previous) : "r"(b), "r"(1) : "memory");
      out[threadIdx.x] = stage[31 - threadIdx.x] * 10 + previous;
    })");
  const uint64_t out = runner.reserve(256);
  REQUIRE(fault_text(runner.launch("turns", {1, 1, 1}, {300, 1, 1}, 0, out, 6)) == "");
  for (int i = 0; i < 6; ++i)
    CHECK(runner.download<int>(out)[static_cast<size_t>(i)] == 300 * 299 / 2 + 300 * i);
  const auto in = numbers(64 * 7);
  REQUIRE(fault_text(runner.launch("pipe", {1, 1, 1}, {128, 1, 1}, 0, runner.upload(in), out, 7)) == "");
  for (size_t lane = 0; lane < 64; ++lane) {
    int sum = 0;
    for (size_t i = 0; i < 7; ++i) sum += in[i * 64 + 63 - lane] * static_cast<int>(i + 1);
    CHECK(runner.download<int>(out)[lane] == sum);
  }
  REQUIRE(fault_text(runner.launch("noinc", {1, 1, 1}, {32, 1, 1}, 0, runner.upload(in), out)) == "");
  for (size_t lane = 0; lane < 32; ++lane) CHECK(runner.download<int>(out)[lane] == in[31 - lane] * 10);
}

TEST_CASE("a barrier's states, byte counts and what it must not be used for") {
  KernelRunner runner(R"(
    __device__ unsigned address(void* p) { return (unsigned)__cvta_generic_to_shared(p); }
    __device__ void init(unsigned b, unsigned n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory"); }
    __device__ unsigned long long arrive(unsigned b) { unsigned long long s; asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(b) : "memory"); return s; }
    __device__ unsigned long long drop(unsigned b) { unsigned long long s; asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(s) : "r"(b) : "memory"); return s; }
    __device__ unsigned pending(unsigned long long s) { unsigned n; asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(n) : "l"(s)); return n; }
    __device__ unsigned test(unsigned b, unsigned long long s) { unsigned d; asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(d) : "r"(b), "l"(s) : "memory"); return d; }
    extern "C" __global__ void states(unsigned* out) {
      __shared__ unsigned long long bar;
      unsigned b = address(&bar);
      init(b, 3);
      unsigned long long s = arrive(b);
      *out++ = pending(s); *out++ = test(b, s);
      s = drop(b);
      *out++ = pending(s); *out++ = test(b, s);
      s = arrive(b);
      *out++ = pending(s); *out++ = test(b, s);
      s = arrive(b);  // two are expected now
      *out++ = pending(s);
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 %0, [%1], 100;" : "=l"(s) : "r"(b) : "memory");
      *out++ = pending(s); *out++ = test(b, s);
      asm volatile("mbarrier.complete_tx.shared.b64 [%0], 60;" :: "r"(b) : "memory");
      *out++ = test(b, s);
      asm volatile("mbarrier.complete_tx.shared.b64 [%0], 40;" :: "r"(b) : "memory");
      *out++ = test(b, s);
      asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;" : "=l"(s) : "r"(b) : "memory");
      *out++ = pending(s);
      asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(b) : "memory");
    }
    extern "C" __global__ void misuse(int what, unsigned long long* global) {
      __shared__ unsigned long long bar[2];
      unsigned b = address(bar);
      unsigned long long s;
      if (what != 0) init(b, what == 1 ? 0 : what == 2 ? 1 << 20 : 1);
      if (what == 3) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(b) : "memory");
      if (what == 4) bar[0] = 12345;
      if (what == 5) asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 2;" : "=l"(s) : "r"(b) : "memory");
      if (what == 6) asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 1;" : "=l"(s) : "r"(b) : "memory");
      if (what == 7) arrive(b + 4);
      if (what == 8) asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(s) : "l"(global) : "memory");
      if (what == 9) test(b, 77);
      if (what == 10) { arrive(b + 16); }
      if (what == 11) asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" :: "r"(b), "r"(1 << 20) : "memory");
      if (what == 12) while (!test(b, (1ull << 62) + (1ull << 60) + (1 << 20) + 1)) {}
      s = arrive(b);
    })");
  const uint64_t out = runner.reserve(64);
  REQUIRE(fault_text(runner.launch("states", {1, 1, 1}, {1, 1, 1}, 0, out)) == "");
  const auto found = runner.download<uint32_t>(out);
  CHECK(std::vector<uint32_t>(found.begin(), found.begin() + 12) ==
        std::vector<uint32_t>{3, 0, 2, 0, 1, 1, 2, 1, 0, 0, 1, 2});
  const uint64_t global = runner.upload(std::vector<uint64_t>(1));
  const auto misuse = [&](int what) {
    return fault_text(runner.launch("misuse", {1, 1, 1}, {1, 1, 1}, 0, what, global));
  };
  CHECK(misuse(13) == "");
  CHECK_THAT(misuse(0), StartsWith("uninitialised: a barrier was never initialised"));
  CHECK_THAT(misuse(1), StartsWith("barrier: a barrier of no arrivals"));
  CHECK_THAT(misuse(2), StartsWith("barrier: a barrier of no arrivals"));
  CHECK_THAT(misuse(3), StartsWith("uninitialised: a barrier was never"));
  CHECK_THAT(misuse(4), StartsWith("barrier: what is used as a barrier"));
  CHECK_THAT(misuse(5), StartsWith("barrier: more arrivals"));
  CHECK_THAT(misuse(6), StartsWith("barrier: an arrival that must not end"));
  CHECK_THAT(misuse(7), StartsWith("illegal_access: an address that is not a multiple of the 8"));
  CHECK_THAT(misuse(8), StartsWith("illegal_access: a barrier that is not in shared"));
  CHECK_THAT(misuse(9), StartsWith("barrier: what is used as the state"));
  CHECK_THAT(misuse(10), StartsWith("illegal_access: a write outside of shared"));
  CHECK_THAT(misuse(11), StartsWith("barrier: more bytes"));
}

TEST_CASE("a barrier that nobody completes ends at the limit of work; copies in flight have a limit") {
  KernelRunner runner(R"(
    extern "C" __global__ void stuck() {
      __shared__ unsigned long long bar;
      unsigned b = (unsigned)__cvta_generic_to_shared(&bar), done = 0;
      if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 2;" :: "r"(b) : "memory");
      __syncthreads();
      while (!done)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}" : "=r"(done) : "r"(b) : "memory");
    }
    extern "C" __global__ void flood(const int* in, int commits) {
      __shared__ int stage[32];
      unsigned s = (unsigned)__cvta_generic_to_shared(&stage[threadIdx.x]);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(in));
      for (;;)
        if (commits) asm volatile("cp.async.commit_group;");
        else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(s), "l"(in));
    })",
                      {.compiler_options = {}, .limits = {.lane_operations = uint64_t{1} << 28}, .ptx = ""});
  CHECK_THAT(fault_text(runner.launch("stuck", {1, 1, 1}, {64, 1, 1}, 0)), StartsWith("timeout: "));
  const uint64_t in = runner.upload(std::vector<int>(1));
  for (const int commits : {0, 1})
    CHECK_THAT(fault_text(runner.launch("flood", {1, 1, 1}, {32, 1, 1}, 0, in, commits)),
               StartsWith("memory: more than"));
}

TEST_CASE(
    "texts that name copies and barriers wrongly, or others than the interpreter has, are refused with a "
    "reason") {
  const auto lowered = [](const std::string& body) {
    const auto module = parse_module(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<20>;\n.reg .pred %p<3>;\n" +
        body + "\nret;\n}\n");
    if (!module.ok()) return "parse: " + module.reason();
    const auto kernel = lower_kernel(module.value(), "k");
    return kernel.ok() ? std::string() : kernel.reason();
  };
  CHECK(lowered("cp.async.ca.shared.global [%r0], [%rd0], 4;") == "");
  CHECK(lowered("cp.async.ca.shared.global.L2::cache_hint [%r0], [%rd0], 4, %r1, %rd1;") == "");
  CHECK_THAT(
      lowered("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%rd0], %r1, [%r2];"),
      StartsWith("cp.async.bulk."));
  for (const char* invalid : {
           "cp.async.ca.shared.global [%r0], [%rd0], 5;",
           "cp.async.cg.shared.global [%r0], [%rd0], 8;",
           "cp.async.ca.shared.global [%r0], [%rd0], %r1;",
           "cp.async.ca.shared.global [%r0], [%rd0];",
           "cp.async.ca.shared.global [%r0], [%r1], 4;",
           "cp.async.ca.shared.global %r0, [%rd1], 4;",
           "cp.async.ca.shared.global [%r0], [%rd1], 4, %rd3;",
           "cp.async.ca.shared.global [%r0], [%rd1], 4, 4, 4, 4;",
           "cp.async;",
           "cp %r0;",
           "cp.async.wait_group;",
           "cp.async.wait_group %r0;",
           "cp.async.wait_group -1;",
           "cp.async.commit_group 1;",
           "cp.async.mbarrier.arrive.b64;",
           "mbarrier;",
           "mbarrier.init.shared.b64 [%r0];",
           "mbarrier.init.shared.b64 [%r0], %rd0;",
           "mbarrier.arrive.shared.b64 %r1, [%r0];",
           "mbarrier.arrive.shared.b64 [%r0];",
           "mbarrier.arrive.shared.b64 %rd1, [%r0], 1, 2;",
           "mbarrier.test_wait.shared.b64 %p0, [%r0];",
           "mbarrier.test_wait.shared.b64 %rd0, [%r0], %rd1;",
           "mbarrier.test_wait.shared.b64 %p0, [%r0], %r1;",
           "mbarrier.test_wait.wrong.parity.shared.b64 %p0, [%r0], %r1;",
           "mbarrier.try_wait.shared.b64 %p0, [%r0], %rd1, 1, 2;",
           "mbarrier.pending_count.b64 %rd0, %rd1;",
           "mbarrier.pending_count.b64 %r0;",
       }) {
    INFO(invalid);
    CHECK(lowered(invalid) != "");
  }
}

}  // namespace bicrl::ptx
