// CUB and cuRAND.
#include <curand_kernel.h>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

__global__ void reduce(const float* x, float* out) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = Reduce(storage).Sum(x[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}
__global__ void scan(const int* x, int* out) {
  using Scan = cub::BlockScan<int, 256>;
  __shared__ typename Scan::TempStorage storage;
  int v;
  Scan(storage).ExclusiveSum(x[threadIdx.x], v);
  out[threadIdx.x] = v;
}
__global__ void sort(unsigned* keys, int* values) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 4, int>;
  __shared__ typename Sort::TempStorage storage;
  unsigned k[4];
  int v[4];
  for (int i = 0; i < 4; ++i) k[i] = keys[threadIdx.x * 4 + i], v[i] = values[threadIdx.x * 4 + i];
  Sort(storage).Sort(k, v);
  for (int i = 0; i < 4; ++i) keys[threadIdx.x * 4 + i] = k[i], values[threadIdx.x * 4 + i] = v[i];
}
__global__ void warp(const double* x, double* out) {
  __shared__ typename cub::WarpReduce<double>::TempStorage storage[4];
  out[threadIdx.x] =
      cub::WarpReduce<double>(storage[threadIdx.x / 32]).Reduce(x[threadIdx.x], [](double a, double b) {
        return a > b ? a : b;
      });
}
__global__ void random(float* out, unsigned long long seed) {
  curandStatePhilox4_32_10_t philox;
  curand_init(seed, threadIdx.x, 0, &philox);
  curandState xorwow;
  curand_init(seed, threadIdx.x, 3, &xorwow);
  float4 u = curand_uniform4(&philox);
  out[threadIdx.x] =
      u.x + u.w + curand_normal(&philox) + curand_uniform(&xorwow) + curand_poisson(&xorwow, 3.0);
}
