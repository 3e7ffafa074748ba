// Device and host features beyond what the published programs use, each against PyTorch.
#include <catch2/catch_test_macros.hpp>

#include "tests/sandbox/host_support.h"

namespace bicrl::testing {
namespace {

struct Fixture {
  const char* name;
  const char* reference;   // Python expression of the parameters
  const char* inputs;      // Python list items
  const char* parameters;  // "x" or "x, y"
  const char* cuda;
  const char* declarations;
  const char* functions;
  const char* forward;
  double tolerance = 1e-4;
};

const Fixture kFixtures[] = {
    {"template kernel without template arguments, dispatch macro, stream, contiguous of a strided input",
     "x.t() * 2 + 1", "torch.randn(33, 65)", "x", R"(
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t>
__global__ void affine(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, scalar_t scale, int64_t n) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)blockDim.x * gridDim.x)
    out[i] = in[i] * scale + scalar_t(1);
}
torch::Tensor f(torch::Tensor x) {
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  x = x.t().contiguous();
  auto out = torch::empty_like(x);
  const int threads = 128;
  const dim3 blocks((x.numel() + threads - 1) / threads);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "affine", ([&] {
    affine<<<blocks, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), scalar_t(2), x.numel());
  }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
    {"partially given template arguments, two-dimensional tiles in shared memory, a macro launch", "x @ y",
     "torch.randn(37, 50), torch.randn(50, 29)", "x, y", R"(
template <int TILE, typename T>
__global__ void matmul(const T* a, const T* b, T* c, int m, int k, int n) {
  __shared__ T as[TILE][TILE + 1];
  __shared__ T bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int ka = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : T(0);
    bs[threadIdx.y][threadIdx.x] = col < n && kb < k ? b[kb * n + col] : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
#define LAUNCH(KERNEL, GRID, BLOCK, ...) \
  KERNEL<<<GRID, BLOCK>>>( \
      __VA_ARGS__)
torch::Tensor f(torch::Tensor a, torch::Tensor b) {
  int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<16><<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), m, k, n);
  return c;
})",
     "torch::Tensor f(torch::Tensor a, torch::Tensor b);", "'f'", "ext.f(x, y)", 1e-3},
    {"shuffles of every kind, votes, match, reduce",
     "torch.stack([x.view(-1,32).sum(1), x.view(-1,32).max(1)[0], x.view(-1,32).cumsum(1)[:,31], "
     "(x.view(-1,32)>0).sum(1).float(), x.view(-1,32)[:,5], x.view(-1,32)[:,0:8].sum(1), "
     "torch.full((x.numel()//32,), 16.0), (x.view(-1,32)>0).sum(1).float()], 1)",
     "torch.randn(4, 64)", "x", R"(
__global__ void warps(const float* x, float* out) {
  int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  float v = x[warp * 32 + lane];
  float sum = v, most = v, scan = v;
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffff, sum, d);
  for (int d = 16; d > 0; d >>= 1) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, d));
  for (int d = 1; d < 32; d <<= 1) {
    float below = __shfl_up_sync(~0u, scan, d);
    if (lane >= d) scan += below;
  }
  unsigned ballot = __ballot_sync(0xffffffff, v > 0);
  float fifth = __shfl_sync(0xffffffff, v, 5);
  float eight = v;
  for (int d = 4; d > 0; d >>= 1) eight += __shfl_down_sync(0xffffffff, eight, d, 8);
  unsigned even = __match_any_sync(0xffffffff, lane % 2);
  unsigned positive = __reduce_add_sync(0xffffffff, v > 0 ? 1u : 0u);
  if (__any_sync(0xffffffff, __popc(ballot) != (int)positive) || !__all_sync(0xffffffff, 1)) most = -1;
  int same;
  __match_all_sync(0xffffffff, 7, &same);
  if (!same) most = -2;
  float last = __shfl_sync(0xffffffff, scan, 31);
  if (lane < 16) {  // half a warp, its own mask
    int pair = __shfl_xor_sync(0x0000ffff, lane, 1);
    if (pair != (lane ^ 1)) most = -3;
  }
  if (lane == 0) {
    float* o = out + warp * 8;
    o[0] = sum; o[1] = most; o[2] = last; o[3] = __popc(ballot); o[4] = fifth; o[5] = eight;
    o[6] = __popc(even); o[7] = positive;
  }
}
torch::Tensor f(torch::Tensor x) {
  auto out = torch::empty({x.numel() / 32, 8}, x.options());
  warps<<<2, x.numel() / 2>>>(x.data_ptr<float>(), out.data_ptr<float>());
  return out;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
    {"atomics on every type, CAS loop, tuple returned",
     "(torch.tensor([float(x.numel())]), x.sum().view(1), x.max().view(1), "
     "torch.tensor([x.numel()], dtype=torch.int64), torch.tensor([0], dtype=torch.int32))",
     "torch.randn(1000).abs()", "x", R"(
__device__ void atomicMaxFloat(float* p, float v) {
  int* q = (int*)p;
  int old = *q, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= v) break;
    old = atomicCAS(q, seen, __float_as_int(v));
  } while (seen != old);
}
__global__ void reduce(const float* x, float* count, double* sum, float* most, unsigned long long* whole, int* least, int n) {
  __shared__ int block_count;
  if (threadIdx.x == 0) block_count = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&block_count, 1);
    atomicAdd(sum, (double)x[i]);
    atomicMaxFloat(most, x[i]);
    atomicAdd(whole, 1ULL);
    atomicMin(least, i);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(count, (float)block_count);
}
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> f(torch::Tensor x) {
  auto count = torch::zeros({1}, x.options());
  auto sum = torch::zeros({1}, x.options().dtype(torch::kFloat64));
  auto most = torch::full({1}, -1e30, x.options());
  auto whole = torch::zeros({1}, x.options().dtype(torch::kInt64));
  auto least = torch::full({1}, 99999, x.options().dtype(torch::kInt32));
  int n = x.numel();
  reduce<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), count.data_ptr<float>(), sum.data_ptr<double>(), most.data_ptr<float>(),
      reinterpret_cast<unsigned long long*>(whole.data_ptr<int64_t>()), least.data_ptr<int>(), n);
  return std::make_tuple(count, sum.to(torch::kFloat32), most, whole, least);
})",
     "std::tuple<torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor, torch::Tensor> f(torch::Tensor "
     "x);",
     "'f'", "ext.f(x)", 1e-3},
    {"half2 and bfloat16 arithmetic", "(x.half() * 2 + x.half(), (x.bfloat16() * x.bfloat16()))",
     "torch.randn(128)", "x", R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
__global__ void halves(const __half2* x, __half2* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = __hfma2(x[i], __float2half2_rn(2.0f), x[i]);
}
__global__ void brains(const __nv_bfloat16* x, __nv_bfloat16* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = __hmul(x[i], x[i]);
}
std::vector<torch::Tensor> f(torch::Tensor h, torch::Tensor b) {
  auto oh = torch::empty_like(h), ob = torch::empty_like(b);
  halves<<<1, 64>>>(reinterpret_cast<const __half2*>(h.data_ptr<at::Half>()), reinterpret_cast<__half2*>(oh.data_ptr<at::Half>()), 64);
  brains<<<1, 128>>>(reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>()),
                     reinterpret_cast<__nv_bfloat16*>(ob.data_ptr<at::BFloat16>()), 128);
  return {oh, ob};
})",
     "std::vector<torch::Tensor> f(torch::Tensor h, torch::Tensor b);", "'f'",
     "ext.f(x.half(), x.bfloat16())", 2e-3},
    {"float4 loads, dynamic shared memory by bytes, constant memory, device globals, several kernels",
     "(x * torch.tensor([1., 2., 3., 4.]).repeat(64)).cumsum(0)", "torch.randn(256)", "x", R"(
__constant__ float factors[4];
__device__ float carried[256];
struct Shape { int n; const float4* in; };
__global__ void scale(Shape s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i * 4 < s.n) {
    float4 v = s.in[i];
    v = make_float4(v.x * factors[0], v.y * factors[1], v.z * factors[2], v.w * factors[3]);
    reinterpret_cast<float4*>(carried)[i] = v;
  }
}
__global__ void scan(float* out, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  float* a = reinterpret_cast<float*>(raw);
  float* b = a + n;
  int t = threadIdx.x;
  a[t] = carried[t];
  __syncthreads();
  for (int d = 1; d < n; d *= 2) {
    b[t] = t >= d ? a[t] + a[t - d] : a[t];
    __syncthreads();
    float* swap = a; a = b; b = swap;
  }
  out[t] = a[t];
}
torch::Tensor f(torch::Tensor x) {
  float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(factors, host, sizeof(host));
  auto out = torch::empty_like(x);
  Shape s{(int)x.numel(), reinterpret_cast<const float4*>(x.data_ptr<float>())};
  scale<<<2, 32>>>(s);
  scan<<<1, 256, 2 * 256 * sizeof(float)>>>(out.data_ptr<float>(), 256);
  return out;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)", 1e-3},
    {"optional tensors, vectors, strings, bool, int64, keyword defaults, pybind module",
     "x * 3 + y.sum() + 5", "torch.randn(40), torch.tensor([1., 2., 3.])", "x, y", R"(
#include <c10/util/Optional.h>
__global__ void kernel(const float* x, const float* y, float* out, long long n, float add, bool twice) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float bias = 0;
  if (y != nullptr) for (int j = 0; j < 3; ++j) bias += y[j];
  out[i] = x[i] * (twice ? 3.f : 1.f) + bias + add;
}
torch::Tensor f(torch::Tensor x, c10::optional<torch::Tensor> y, std::vector<int64_t> sizes, const std::string& mode,
                int64_t n, double add, bool twice, std::optional<int64_t> nothing) {
  TORCH_CHECK(mode == "sum" && sizes.size() == 2 && sizes[1] == 20, "mode ", mode);
  TORCH_CHECK(!nothing.has_value());
  auto out = torch::empty(sizes, x.options());
  kernel<<<(n + 31) / 32, 32>>>(x.data_ptr<float>(), y.has_value() ? y->data_ptr<float>() : nullptr,
                                out.data_ptr<float>(), n, add, twice);
  return out.view({-1});
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("f", &f, "a kernel", py::arg("x"), py::arg("y"), py::arg("sizes"), py::arg("mode"), py::arg("n"),
        py::arg("add") = 5.0, py::arg("twice") = true, py::arg("nothing") = py::none());
})",
     "", "", "ext.f(x, y, [2, 20], n=x.numel(), mode='sum')"},
    {"cooperative groups, early return before a barrier, syncthreads_count", "x.view(8, 64).sum(1)",
     "torch.randn(512)", "x", R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void sums(const float* x, float* out) {
  cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() >= 64) return;
  auto tile = cg::tiled_partition<32>(block);
  __shared__ float part[2];
  float v = cg::reduce(tile, x[blockIdx.x * 64 + block.thread_rank()], cg::plus<float>());
  if (tile.thread_rank() == 0) part[tile.meta_group_rank()] = v;
  block.sync();
  int count = __syncthreads_count(threadIdx.x % 2);
  if (threadIdx.x == 0) out[blockIdx.x] = count == 32 ? part[0] + part[1] : -1.f;
}
torch::Tensor f(torch::Tensor x) {
  auto out = torch::empty({8}, x.options());
  sums<<<8, 96>>>(x.data_ptr<float>(), out.data_ptr<float>());
  return out;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
    {"standard mathematics and intrinsics, integer overloads, min and max of mixed types",
     "torch.erf(x) + torch.lgamma(x.abs() + 1) + torch.special.ndtr(x) + torch.rsqrt(x.abs() + 1) + 7",
     "torch.randn(300)", "x", R"(
#include <algorithm>
#include <cmath>
#include <limits>
using std::vector;
__device__ __forceinline__ float g(float v) {
  float a = erff(v) + lgammaf(fabsf(v) + 1.f) + normcdff(v) + rsqrtf(fabsf(v) + 1);
  double root = sqrt(49);
  float least = std::min(std::numeric_limits<float>::infinity(), (float)root);
  int bits = __popc(0xf0u) - __clz(0x0fffffff) + __ffs(8) - 4;
  return a + max(least, 1.0f) + (float)max(0, bits) + (isnan(v) ? 1 : 0) + std::floor(0.5f) + (__fdividef(1.f, 1.f) - 1.f);
}
__global__ void k(const float* x, float* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) y[i] = g(__ldg(&x[i]));
}
torch::Tensor f(torch::Tensor x) {
  vector<int64_t> shape(x.sizes().begin(), x.sizes().end());
  auto y = torch::zeros(shape, torch::TensorOptions().dtype(x.dtype()).device(x.device()));
  int n = x.numel();
  k<<<std::max(1, (n + 127) / 128), 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
  return y;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
    {"opt-in shared memory above 48 KB, memset, device copies, caching allocator", "x.flip(0)",
     "torch.randn(20000)", "x", R"(
#include <c10/cuda/CUDACachingAllocator.h>
extern __shared__ float all[];
__global__ void flip(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) all[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += all[n - 1 - i];
}
torch::Tensor f(torch::Tensor x) {
  int n = x.numel(), bytes = n * sizeof(float);
  auto y = torch::empty_like(x);
  cudaMemsetAsync(y.data_ptr<float>(), 0, bytes, c10::cuda::getCurrentCUDAStream());
  auto scratch = c10::cuda::CUDACachingAllocator::get()->allocate(bytes);
  cudaMemcpyAsync(scratch.get(), x.data_ptr(), bytes, cudaMemcpyDeviceToDevice);
  cudaFuncSetAttribute(flip, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  flip<<<1, 512, bytes>>>((const float*)scratch.get(), y.data_ptr<float>(), n);
  return y;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
    {"accessors and a host function that reads a scalar (direct tier)", "x * x.max()", "torch.randn(4, 6)",
     "x", R"(
__global__ void top(const float* x, float* most, int n) {
  float m = x[0];
  for (int i = 1; i < n; ++i) m = fmaxf(m, x[i]);
  *most = m;
}
__global__ void scale(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> x,
                      torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> y, float by) {
  int r = blockIdx.x, c = threadIdx.x;
  if (r < x.size(0) && c < x.size(1)) y[r][c] = x[r][c] * by;
}
torch::Tensor f(torch::Tensor x) {
  auto most = torch::empty({}, x.options());
  top<<<1, 1>>>(x.data_ptr<float>(), most.data_ptr<float>(), x.numel());
  float by = most.item<float>();
  auto y = torch::empty_like(x);
  scale<<<x.size(0), x.size(1)>>>(x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
                                  y.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), by);
  return y;
})",
     "torch::Tensor f(torch::Tensor x);", "'f'", "ext.f(x)"},
};

}  // namespace

TEST_CASE("device and host features on the host backend") {
  for (const Fixture& f : kFixtures) {
    DYNAMIC_SECTION(f.name) {
      const HostTask task = host_driver().ask_oracle(task_of(f.reference, f.inputs, f.parameters), 2);
      const std::string program = program_of(f.cuda, f.declarations, f.functions, f.forward, f.parameters);
      const HostRun run = host_driver().run(task, program, f.tolerance);
      INFO(run.fault_class << " at " << run.reached << ": " << run.message << "\nworst " << run.worst);
      CHECK(run.fault_class == "");
      CHECK(run.passed == 2);
      if (run.tier == "replay" && run.fault_class.empty()) {
        ReplayOptions reversed;
        reversed.reverse = true;
        reversed.poison = 0x5a;
        const HostRun again = host_driver().replay(task, run, f.tolerance, reversed);
        INFO("reversed: " << again.fault_class << " " << again.message << " worst " << again.worst);
        CHECK(again.passed == 2);
      }
    }
  }
}

}  // namespace bicrl::testing
