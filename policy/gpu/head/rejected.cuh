// Device side of what rejected candidates exclude: one block goes over the logits of a position that stayed
// masked, if its likeliest id is ahead of the cut at all.
#pragma once
#include "policy/gpu/head/logit_row.cuh"

namespace bicrl::gpu {

// Ids whose log-probability is this far below the cut's are not compared, nor are those below the lowest, as
// in rollout/record/rejected_mass.cpp.
constexpr float kCutMargin = 1e-4f, kLowestLogProb = -100;

// As AcceptanceCut (rollout/record/rejected_mass.h).
struct Cut {
  float confidence;
  int offset;

  __device__ bool is_ahead(float other, int other_offset) const {
    return other > confidence || (other == confidence && other_offset < offset);
  }
};

struct RejectedShared {
  unsigned long long last;  // accepted candidate, as `packed`
  double mass[kSampleWarps];
  int listed;
  int ids[Rejected::kListed];
};

__device__ inline int offset_of(const RejectedRows& work, int64_t row) {
  return static_cast<int>(work.cells[row] % work.block_size);
}

// Of the block of a row. Without an accepted candidate nothing is ahead.
__device__ inline Cut cut_of_block(const RejectedRows& work, int64_t row, int64_t rows,
                                   RejectedShared& shared) {
  constexpr unsigned long long kNone = ~0ull;
  const int64_t block = work.cells[row] / work.block_size;
  if (threadIdx.x == 0) shared.last = kNone;
  __syncthreads();
  for (int64_t j = row - work.block_size + 1 + threadIdx.x; j < row + work.block_size; j += kSampleThreads) {
    if (j < 0 || j >= rows || work.cells[j] / work.block_size != block || !work.drawn[j].accepted) continue;
    atomicMin(&shared.last, packed(order_of(work.drawn[j].score), offset_of(work, j)));
  }
  __syncthreads();
  const Cut last = {value_of(packed_order(shared.last)), packed_id(shared.last)};
  if (shared.last == kNone) return {INFINITY, 0};
  // Where candidates were left over, at least the quota was taken: if all of those are above the threshold,
  // the threshold decided.
  if (work.rule == Acceptance::kAboveThreshold && last.confidence > work.threshold)
    return {work.threshold, 0};
  return last;
}

// Whether an id is ahead of the cut, and its confidence, as the sampler computed it for the one it drew.
struct Comparison {
  Cut cut;
  RowScale scale;
  float lowest;
  int offset;  // of the row

  __device__ bool operator()(float x, float& confidence) const {
    const float log_prob = log_prob_of(x, scale);
    if (!(log_prob >= lowest)) return false;
    confidence = expf(log_prob);
    return cut.is_ahead(confidence, offset);
  }
};

// Lists the first ids that are found and counts all; their mass, in thread 0.
__device__ inline double list_ahead(const LogitRow& row, const Comparison& is_ahead, RejectedShared& shared) {
  if (threadIdx.x == 0) shared.listed = 0;
  __syncthreads();
  double mass = 0;
  for (int first = static_cast<int>(threadIdx.x) * 4; first < row.vocab; first += kSampleThreads * 4) {
    float x[4];
    row.load_four(first, x);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float confidence = 0;
      if (!is_ahead(x[i], confidence)) continue;
      mass += confidence;
      const int place = atomicAdd(&shared.listed, 1);
      if (place < Rejected::kListed) shared.ids[place] = first + i;
    }
  }
  mass = sum_of_warp(mass);
  if (threadIdx.x % kWarp == 0) shared.mass[threadIdx.x / kWarp] = mass;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < kSampleWarps; ++w) total += shared.mass[w];
  return total;
}

__device__ inline void mark_ahead(const LogitRow& row, const Comparison& is_ahead, uint32_t* marks) {
  const int lane = threadIdx.x % kWarp;
  for (int first = static_cast<int>(threadIdx.x) - lane; first < row.vocab; first += kSampleThreads) {
    float confidence = 0;
    const unsigned found = __ballot_sync(kAllLanes, is_ahead(row[first + lane], confidence));
    if (lane == 0) marks[first / kWarp] = found;
  }
}

__global__ void __launch_bounds__(kSampleThreads) rejected_row(const RejectedRows work) {
  __shared__ RejectedShared shared;
  const int64_t r = blockIdx.x, rows = *work.count;
  if (r >= rows || work.drawn[r].accepted) return;
  const Cut cut = cut_of_block(work, r, rows, shared);
  const RowScale scale = work.scales[r];
  const Comparison is_ahead = {cut, scale, fmaxf(logf(cut.confidence) - kCutMargin, kLowestLogProb),
                               offset_of(work, r)};
  if (-scale.log_total < is_ahead.lowest) {  // the likeliest id's log-probability
    if (threadIdx.x == 0) work.rejected[r] = {};
    return;
  }
  const LogitRow row = {work.logits + r * work.vocab, work.allowed, static_cast<int>(work.vocab),
                        inverse_temperature_of(work.temperature)};
  const double mass = list_ahead(row, is_ahead, shared);
  const int count = shared.listed;
  if (threadIdx.x == 0) {
    Rejected out = {};
    out.mass = mass;
    out.count = count;
    for (int i = 0; i < min(count, Rejected::kListed); ++i) out.ids[i] = shared.ids[i];
    work.rejected[r] = out;
  }
  if (count > Rejected::kListed)
    mark_ahead(row, is_ahead, work.marks + r * ((work.vocab + kWarp - 1) / kWarp));
}

}  // namespace bicrl::gpu
