// The sum of gradient rows by token on the device.
#pragma once
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

constexpr int kSumThreads = 64;

struct RunArguments {
  const __nv_bfloat16* grad;
  const int32_t *rows, *run_begin, *run_token, *run_slot;
  float *partial, *sum;
  int width;
};

// One run, eight columns a thread.
__global__ void __launch_bounds__(kSumThreads) sum_run(const RunArguments a) {
  const int run = blockIdx.x, column = (blockIdx.y * kSumThreads + threadIdx.x) * BfPack::kSize;
  if (column >= a.width) return;
  float mine[BfPack::kSize] = {};
  const int end = a.run_begin[run + 1];
#pragma unroll 4
  for (int i = a.run_begin[run]; i < end; ++i) {
    const BfPack some = load_pack(a.grad + static_cast<int64_t>(a.rows[i]) * a.width + column);
#pragma unroll
    for (int j = 0; j < BfPack::kSize; ++j) mine[j] += widen(some.values[j]);
  }
  const int slot = a.run_slot[run];
  float* const to = slot >= 0 ? a.partial + static_cast<int64_t>(slot) * a.width + column
                              : a.sum + static_cast<int64_t>(a.run_token[run]) * a.width + column;
#pragma unroll
  for (int j = 0; j < BfPack::kSize; ++j) to[j] = slot >= 0 ? mine[j] : to[j] + mine[j];
}

// A token of several runs, a column a thread.
__global__ void __launch_bounds__(kSumThreads)
    sum_runs_of_token(const float* partial, const int32_t* long_begin, const int32_t* long_token, float* sum,
                      int width) {
  const int token = blockIdx.x, column = blockIdx.y * kSumThreads + threadIdx.x;
  if (column >= width) return;
  float mine = 0;
  const int end = long_begin[token + 1];
#pragma unroll 4
  for (int slot = long_begin[token]; slot < end; ++slot)
    mine += partial[static_cast<int64_t>(slot) * width + column];
  sum[static_cast<int64_t>(long_token[token]) * width + column] += mine;
}

}  // namespace bicrl::gpu
