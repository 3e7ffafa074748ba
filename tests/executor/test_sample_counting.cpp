// Memory of sampled blocks: whatever way a kernel reads an input, it finds pieces of the given contents.
#include "sandbox/interpreter/executor/sample_counting.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/ptx/kernel_runner.h"

namespace bicrl {
namespace {

using ptx::testing::fault_text;
using ptx::testing::KernelRunner;

// Each of 32 threads writes what it read, or the mean of it.
const std::string kReaders = R"(
  #include <cuda_pipeline.h>
  #include <mma.h>
  extern "C" __global__ void plain(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x]; }
  extern "C" __global__ void read_only(const float* in, float* out) { out[threadIdx.x] = __ldg(in + threadIdx.x); }
  extern "C" __global__ void vectors(const float4* in, float* out) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = (v.x + v.y + v.z + v.w) / 4;
  }
  extern "C" __global__ void atomic(float* in, float* out) { out[threadIdx.x] = atomicAdd(in + threadIdx.x, 0.0f); }
  extern "C" __global__ void copied(const float* in, float* out) {
    __shared__ float stage[32];
    __pipeline_memcpy_async(&stage[threadIdx.x], in + threadIdx.x, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = stage[threadIdx.x];
  }
  extern "C" __global__ void copied_vectors(const float4* in, float* out) {
    __shared__ float4 stage[32];
    __pipeline_memcpy_async(&stage[threadIdx.x], in + threadIdx.x, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    float4 v = stage[threadIdx.x];
    out[threadIdx.x] = (v.x + v.y + v.z + v.w) / 4;
  }
  extern "C" __global__ void matrix(const float* in, float* out) {
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> part;
    nvcuda::wmma::load_matrix_sync(part, in, 16, nvcuda::wmma::mem_row_major);
    float sum = 0;
    for (int i = 0; i < part.num_elements; ++i) sum += part.x[i];
    out[threadIdx.x] = sum / part.num_elements;
  }
)";

}  // namespace

TEST_CASE("an input of a sample has the given contents however it is read") {
  const std::string kernel =
      GENERATE("plain", "read_only", "vectors", "atomic", "copied", "copied_vectors", "matrix");
  CAPTURE(kernel);
  KernelRunner runner(kReaders, {.shadows = false, .compiler_options = {}, .limits = {}, .ptx = ""});
  const uint64_t in = runner.reserve(1 << 20), out = runner.reserve(32 * sizeof(float));
  const std::vector<float> contents(100, 3.0F);
  SampleCounting sample(7);
  sample.add_input(in, {reinterpret_cast<const char*>(contents.data()), contents.size() * sizeof(float)});
  runner.observer = &sample;
  const uint64_t page = (in + 4095) / 4096 * 4096;  // not the buffer's first
  REQUIRE(fault_text(runner.launch(kernel, {1, 1, 1}, {32, 1, 1}, 0, page, out)) == "");
  CHECK(runner.download<float>(out) == std::vector<float>(32, 3.0F));
}

}  // namespace bicrl
