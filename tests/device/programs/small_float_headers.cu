#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_pipeline.h>
#include <math_constants.h>
#include <torch/extension.h>
#include <cuda/std/limits>
template <typename T>
struct Acc {
  using type = float;
};
template <>
struct Acc<double> {
  using type = double;
};
template <typename T>
__device__ inline float to_f(T v) {
  return static_cast<float>(v);
}
template <>
__device__ inline float to_f<__half>(__half v) {
  return __half2float(v);
}
template <typename scalar_t, typename acc_t = at::acc_type<scalar_t, true>, int VEC = 16 / sizeof(scalar_t)>
__global__ void ln(const scalar_t* __restrict__ x, scalar_t* y, int n) {
  extern __shared__ char smem[];
  acc_t* s = reinterpret_cast<acc_t*>(smem);
  acc_t v = static_cast<acc_t>(x[threadIdx.x]);
  s[threadIdx.x] = v;
  __syncthreads();
  y[threadIdx.x] = static_cast<scalar_t>(rsqrtf((float)s[0]) + CUDART_INF_F);
  y[0] = x[0] > x[1] ? x[0] : scalar_t(0);
  y[1] = -x[0];
  y[2] = x[2] * static_cast<scalar_t>(2);
  if (x[0] == scalar_t(0)) y[3] += y[2];
}
__global__ void cp(const float* g, float* o) {
  __shared__ float t[64];
  __pipeline_memcpy_async(&t[threadIdx.x], &g[threadIdx.x], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  o[threadIdx.x] = t[threadIdx.x];
}
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "ln", [&] {
    ln<scalar_t><<<1, 32, 128>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 3);
  });
  AT_DISPATCH_SWITCH(x.scalar_type(), "q", AT_DISPATCH_CASE(at::ScalarType::Float, [&] {
                       ln<scalar_t, double, 2><<<1, 1>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), 3);
                     }));
  switch (x.scalar_type()) {
    case torch::kFloat:
      cp<<<1, 64>>>(x.data_ptr<float>(), y.data_ptr<float>());
      break;
    default:
      TORCH_CHECK(false, "no");
  }
  return y;
}
