// Top-k and top-p restriction of a row of logits, on the device.
#pragma once
#include "policy/gpu/head/logit_row.cuh"

namespace bicrl::gpu {

// Weights as whole numbers have the same sum in any order.
constexpr double kWeightUnits = static_cast<double>(1ull << 40);

// The largest order for which the amounts of all ids of at least that order reach `wanted`: ids count as one,
// or weigh against `best`. Leaves the amount above it in shared.amount.
template <bool kByWeight>
__device__ inline unsigned select_order(const LogitRow& row, unsigned least, float best,
                                        unsigned long long wanted, SampleShared& shared) {
  unsigned found = 0;
  unsigned long long above = 0;
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = threadIdx.x; i < 256; i += kSampleThreads) shared.bins[i] = 0;
    __syncthreads();
    for (int id = threadIdx.x; id < row.vocab; id += kSampleThreads) {
      const float x = row[id];
      const unsigned order = order_of(x);
      if (order < least || x == -INFINITY) continue;
      if (shift < 24 && (order >> (shift + 8)) != (found >> (shift + 8))) continue;
      const unsigned long long amount =
          kByWeight ? static_cast<unsigned long long>(static_cast<double>(expf(x - best)) * kWeightUnits) : 1;
      if (amount > 0) atomicAdd(&shared.bins[(order >> shift) & 255], amount);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int bin = 255;
      while (bin > 0 && above + shared.bins[bin] < wanted) above += shared.bins[bin--];
      shared.order = found | static_cast<unsigned>(bin) << shift;
      shared.amount = above;
    }
    __syncthreads();
    found = shared.order;
    above = shared.amount;
    __syncthreads();
  }
  return found;
}

// The place behind the first `wanted` ids that equal the order.
__device__ inline int end_of_equals(const LogitRow& row, unsigned order, unsigned long long wanted,
                                    SampleShared& shared) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const Run run = run_of_warp(warp, row.vocab);
  int mine = 0;
  for (int first = run.begin; first < run.end; first += kWarp) {
    const int id = first + lane;
    mine += __popc(__ballot_sync(kAllLanes, id < run.end && order_of(row[id]) == order));
  }
  if (lane == 0) shared.count[warp] = mine;
  if (threadIdx.x == 0) shared.id = row.vocab;
  __syncthreads();
  unsigned long long before = 0;
  for (int w = 0; w < warp; ++w) before += static_cast<unsigned long long>(shared.count[w]);
  if (before < wanted && before + static_cast<unsigned long long>(mine) >= wanted) {
    for (int first = run.begin; first < run.end; first += kWarp) {
      const int id = first + lane;
      unsigned equal = __ballot_sync(kAllLanes, id < run.end && order_of(row[id]) == order);
      for (; equal && before < wanted; equal &= equal - 1)
        if (++before == wanted && lane == 0) shared.id = first + __ffs(static_cast<int>(equal));
    }
  }
  __syncthreads();
  const int end = shared.id;
  __syncthreads();
  return end;
}

// Lists the ids of a row's largest values in shared.sorted, largest first: all that are as large as the
// `wanted`-th of the threads' own largest, of which there are so many at least. How many they are; more than
// kShortlist are not listed.
__device__ inline int list_largest(const LogitRow& row, float of_thread, int wanted, SampleShared& shared) {
  const int thread = static_cast<int>(threadIdx.x);
  const unsigned long long own = packed(order_of(of_thread), thread);
  shared.found[thread] = own;
  if (thread == 0) shared.listed = 0;
  __syncthreads();
  int higher = 0;
  for (int i = 0; i < kSampleThreads; ++i) higher += shared.found[i] > own;
  if (higher == wanted - 1) shared.order = packed_order(own);
  __syncthreads();
  const unsigned least = shared.order;
  for (int first = thread * 4; first < row.vocab; first += kSampleThreads * 4) {
    float x[4];
    row.load_four(first, x);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (order_of(x[i]) < least || x[i] == -INFINITY) continue;
      const int place = atomicAdd(&shared.listed, 1);
      if (place < kShortlist) shared.found[place] = packed(order_of(x[i]), first + i);
    }
  }
  __syncthreads();
  const int listed = shared.listed;
  if (listed > kShortlist) return listed;
  for (int i = thread; i < listed; i += kSampleThreads) {
    int rank = 0;
    for (int j = 0; j < listed; ++j) rank += shared.found[j] > shared.found[i];
    shared.sorted[rank] = shared.found[i];
  }
  __syncthreads();
  return listed;
}

// The place in the list of the largest values at which those of at least the threshold weigh `target`; -1 if
// all of them are lighter. Every warp finds it for itself.
__device__ inline int last_within(int listed, unsigned threshold, float best, double target,
                                  const SampleShared& shared) {
  const int lane = threadIdx.x % kWarp;
  double before = 0;
  for (int first = 0; first < listed; first += kWarp) {
    const int place = first + lane;
    const unsigned order = place < listed ? packed_order(shared.sorted[place]) : 0;
    const bool counts = place < listed && order >= threshold;
    double up_to = counts ? static_cast<double>(expf(value_of(order) - best)) : 0.0;
    for (int apart = 1; apart < kWarp; apart *= 2) {
      const double lower = __shfl_up_sync(kAllLanes, up_to, apart);
      if (lane >= apart) up_to += lower;
    }
    const unsigned reached = __ballot_sync(kAllLanes, counts && before + up_to >= target);
    if (reached) return first + __ffs(static_cast<int>(reached)) - 1;
    before += __shfl_sync(kAllLanes, up_to, kWarp - 1);
  }
  return -1;
}

// By a list of the largest values alone; whether that was enough.
__device__ inline bool restrict_by_list(const LogitRow& row, float best, float of_thread, int top_k,
                                        double top_p, SampleShared& shared, Kept& kept) {
  // Without a k as many as a sure policy's p may take.
  constexpr int kGuess = 256;
  if (top_k > kSampleThreads) return false;
  const int listed = list_largest(row, of_thread, top_k > 0 ? top_k : kGuess, shared);
  if (listed > kShortlist) return false;
  // Fewer than k: there are no more.
  if (top_k > 0 && listed >= top_k) kept.threshold = packed_order(shared.sorted[top_k - 1]);
  if (top_p >= 1.0) return true;
  weigh_kept(row, kept, best, shared);
  const int last = last_within(listed, kept.threshold, best, total_of(shared) * top_p, shared);
  if (last < 0) return false;
  kept = {.threshold = packed_order(shared.sorted[last]), .equal_end = packed_id(shared.sorted[last]) + 1};
  return true;
}

__device__ inline Kept restrict_row(const LogitRow& row, float best, float of_thread, int top_k, double top_p,
                                    SampleShared& shared) {
  if (top_k >= row.vocab) top_k = 0;
  Kept kept;
  if (restrict_by_list(row, best, of_thread, top_k, top_p, shared, kept)) return kept;
  kept = {};
  if (top_k > 0)
    kept.threshold = select_order<false>(row, 0, best, static_cast<unsigned long long>(top_k), shared);
  if (top_p >= 1.0) return kept;
  weigh_kept(row, kept, best, shared);
  const double target = total_of(shared) * top_p * kWeightUnits;
  const auto wanted = static_cast<unsigned long long>(target < 1.0 ? 1.0 : target);
  const unsigned order = select_order<true>(row, kept.threshold, best, wanted, shared);
  if (order < kept.threshold) return kept;  // rounded to whole numbers, all of them do not reach it
  kept.threshold = order;
  const double each = static_cast<double>(expf(value_of(kept.threshold) - best)) * kWeightUnits;
  const double lacking = target - static_cast<double>(shared.amount);
  const double equals = each > 0 ? ceil(lacking / each) : 1.0;
  kept.equal_end = end_of_equals(row, kept.threshold,
                                 static_cast<unsigned long long>(equals < 1.0 ? 1.0 : equals), shared);
  return kept;
}

}  // namespace bicrl::gpu
