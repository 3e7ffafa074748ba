// Templates over the element types, integer and floating-point arithmetic, half and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
struct Fused {
  static __device__ T apply(T x, T y) { return x * y + y; }
};
template <>
struct Fused<__half> {
  static __device__ __half apply(__half x, __half y) { return __hfma(x, y, y); }
};

template <class T, int kUnroll>
__global__ void fused(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * kUnroll;
#pragma unroll
  for (int k = 0; k < kUnroll; ++k)
    if (i + k < n) out[i + k] = Fused<T>::apply(a[i + k], b[i + k]);
}
template __global__ void fused<float, 4>(const float*, const float*, float*, int);
template __global__ void fused<double, 2>(const double*, const double*, double*, int);
template __global__ void fused<__half, 8>(const __half*, const __half*, __half*, int);
template __global__ void fused<long long, 1>(const long long*, const long long*, long long*, int);
template __global__ void fused<unsigned char, 3>(const unsigned char*, const unsigned char*, unsigned char*,
                                                 int);

__global__ void bfloat(const __nv_bfloat162* a, __nv_bfloat16* out, float* sum, int n) {
  int i = threadIdx.x;
  __nv_bfloat162 x = __hmul2(a[i], a[n - i]);
  out[i] = __hadd(x.x, x.y);
  sum[i] = __bfloat162float(x.x) + __low2float(a[i]);
}

__global__ void mathematics(float* x, double* d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  v = tanhf(v) + expf(v) * __sinf(v) + erff(v) + powf(v, 1.7f) * __int_as_float(0x7f800000) + log1pf(v) +
      sinf(v) + fmodf(v, 3.0f) + rsqrtf(v);
  v += __fdividef(1.0f, v) + sqrtf(v) + roundf(v) + lgammaf(v) + (isnan(v) ? 1.0f : 0.0f);
  x[i] = v;
  d[i] = exp(d[i]) + log(d[i]) + sqrt(d[i]) / 3.0 + cos(d[i]) + fma(d[i], 1e-300, 0.25);
}

__global__ void integers(unsigned* u, long long* s, int n) {
  int i = threadIdx.x;
  unsigned x = u[i];
  u[i] = __popc(x) + __clz(x) + __brev(x) + __ffs(x) + __byte_perm(x, x >> 3, 0x4321) + x / 7u + x % n +
         __umulhi(x, 12345u) + __dp4a((int)x, 0x01020304, 5) + __funnelshift_l(x, 17u, 5) +
         __vadd4(x, 0x01010101u) + __usad(x, 3u, 4u);
  s[i] = s[i] / 13 + __mul64hi(s[i], s[n]) + (s[i] << (x & 63)) - llabs(s[i]) + (long long)(float)x;
}

__global__ void __launch_bounds__(128, 4) bounded(int4* v) {
  int4 a = v[threadIdx.x];
  a.x ^= a.y;
  v[threadIdx.x + 1] = a;
}
