// A row of logits as one block goes over it: each warp over a run of its ids, so that sums in the order of
// the ids are sums over warps first.
#pragma once
#include "policy/gpu/elements.cuh"

namespace bicrl::gpu {

constexpr int kSampleThreads = 512;
constexpr int kSampleWarps = kSampleThreads / kWarp;
constexpr int kMoves = 4;  // of four logits, that a thread has under way: rows come from the device's memory
constexpr int kScanned = kMoves * 4 * kWarp;  // ids that a warp sums up at a time

// Greedy draws are from the distribution at temperature 1.
__device__ inline float inverse_temperature_of(float temperature) {
  return temperature == 0 ? 1.0f : 1.0f / temperature;
}

// The logits of one row at the temperature, rounded before anything is made of them: in every kernel alike.
struct LogitRow {
  const float* logits;
  const uint8_t* allowed;
  int vocab;
  float inverse_temperature;

  __device__ float operator[](int id) const {
    return id < vocab && allowed[id] ? __fmul_rn(logits[id], inverse_temperature) : -INFINITY;
  }
  // Those of four neighbours, from a multiple of four on; in one move where rows begin at such multiples.
  __device__ void load_four(int first, float (&x)[4]) const {
    if (vocab % 4 != 0 || first >= vocab) {
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = (*this)[first + i];
      return;
    }
    const float4 all = *reinterpret_cast<const float4*>(logits + first);
    const uchar4 may = *reinterpret_cast<const uchar4*>(allowed + first);
    x[0] = may.x ? __fmul_rn(all.x, inverse_temperature) : -INFINITY;
    x[1] = may.y ? __fmul_rn(all.y, inverse_temperature) : -INFINITY;
    x[2] = may.z ? __fmul_rn(all.z, inverse_temperature) : -INFINITY;
    x[3] = may.w ? __fmul_rn(all.w, inverse_temperature) : -INFINITY;
  }
};

__device__ inline float log_prob_of(float x, const RowScale& scale) {
  return __fsub_rn(__fsub_rn(x, scale.best), scale.log_total);
}

// Grows with x.
__device__ inline unsigned order_of(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float value_of(unsigned order) {
  return __uint_as_float(order & 0x80000000u ? order & 0x7FFFFFFFu : ~order);
}

// What top-k and top-p leave: ids above the threshold, and those that equal it up to an id.
struct Kept {
  unsigned threshold = 0;
  int equal_end = 0x7FFFFFFF;

  __device__ bool operator()(float x, int id) const {
    const unsigned order = order_of(x);
    return order > threshold || (order == threshold && id < equal_end);
  }
};

// Ids of the largest values that are sorted at once.
constexpr int kShortlist = 2 * kSampleThreads;

// An id and its value as one number, which is the larger the larger the value is, and the lower the id among
// equal ones.
__device__ inline unsigned long long packed(unsigned order, int id) {
  return static_cast<unsigned long long>(order) << 32 | ~static_cast<unsigned>(id);
}
__device__ inline unsigned packed_order(unsigned long long entry) {
  return static_cast<unsigned>(entry >> 32);
}
__device__ inline int packed_id(unsigned long long entry) {
  return static_cast<int>(~static_cast<unsigned>(entry));
}

// The block's shared memory.
struct SampleShared {
  float best[kSampleWarps];
  double mass[kSampleWarps];  // of runs, then of the parts of one; also what entropies are summed up in
  unsigned long long bins[256];
  unsigned long long found[kShortlist], sorted[kShortlist];
  unsigned long long amount;
  unsigned order;
  int listed;
  int count[kSampleWarps];
  int id;
};

struct Run {
  int begin, end;
};
__device__ inline Run run_of_warp(int warp, int vocab) {
  const int each = ((vocab + kSampleWarps - 1) / kSampleWarps + kScanned - 1) / kScanned * kScanned;
  return {min(warp * each, vocab), min((warp + 1) * each, vocab)};
}

// The largest value, in all threads, `of_thread` among those that a thread has seen, and in shared.mass what
// each warp's run weighs against the largest.
__device__ inline float weigh(const LogitRow& row, float& of_thread, SampleShared& shared) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const Run run = run_of_warp(warp, row.vocab);
  float best = -INFINITY, sum = 0;
  for (int first = run.begin + lane * 4; first < run.end; first += kScanned) {
    float x[kMoves][4];
#pragma unroll
    for (int m = 0; m < kMoves; ++m) row.load_four(first + m * 4 * kWarp, x[m]);
    float higher = best;
#pragma unroll
    for (int m = 0; m < kMoves; ++m)
      higher = fmaxf(higher, fmaxf(fmaxf(x[m][0], x[m][1]), fmaxf(x[m][2], x[m][3])));
    if (higher > best) {
      sum *= expf(best - higher);
      best = higher;
    }
    // Before there is a value there is nothing to weigh; NaN goes on to the sum.
    const float origin = best == -INFINITY ? 0.0f : best;
#pragma unroll
    for (int m = 0; m < kMoves; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) sum += expf(x[m][i] - origin);
  }
  of_thread = best;
  float of_warp = best;
  for (int apart = kWarp / 2; apart > 0; apart /= 2)
    of_warp = fmaxf(of_warp, __shfl_xor_sync(kAllLanes, of_warp, apart));
  if (lane == 0) shared.best[warp] = of_warp;
  __syncthreads();
  float of_row = -INFINITY;
  for (int w = 0; w < kSampleWarps; ++w) of_row = fmaxf(of_row, shared.best[w]);
  const float scale = best == -INFINITY && sum == 0 ? 0.0f : expf(best - of_row);
  const double mass = sum_of_warp(static_cast<double>(sum) * scale);
  if (lane == 0) shared.mass[warp] = mass;
  __syncthreads();
  return of_row;
}

__device__ inline double total_of(const SampleShared& shared) {
  double total = 0;
  for (int w = 0; w < kSampleWarps; ++w) total += shared.mass[w];
  return total;
}

// The warp's runs again, of what is kept.
__device__ inline void weigh_kept(const LogitRow& row, const Kept& kept, float best, SampleShared& shared) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const Run run = run_of_warp(warp, row.vocab);
  double sum = 0;
  for (int first = run.begin + lane * 4; first < run.end; first += 4 * kWarp) {
    float x[4];
    row.load_four(first, x);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (kept(x[i], first + i)) sum += expf(x[i] - best);
  }
  sum = sum_of_warp(sum);
  __syncthreads();
  if (lane == 0) shared.mass[warp] = sum;
  __syncthreads();
}

}  // namespace bicrl::gpu
