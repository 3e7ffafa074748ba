// Device side of drawing tokens: one block goes over the logits of a row. Reads the row once, and a run of it
// again for the draw; restrictions and entropies read it more often.
#pragma once
#include "policy/gpu/head/restriction.cuh"

namespace bicrl::gpu {

// The first place whose cumulative mass exceeds the target, which becomes relative to it. If rounding leaves
// none, the last one that weighs anything, with an endless target.
__device__ inline int place_of(const double (&mass)[kSampleWarps], double& target) {
  int place = 0;
  while (place < kSampleWarps && !(mass[place] > target)) target -= mass[place++];
  if (place < kSampleWarps) return place;
  target = INFINITY;
  while (place > 0 && !(mass[--place] > 0)) continue;
  return place;
}

// The first id whose cumulative weight exceeds uniform * total, of what is kept and weighed in shared.mass:
// all warps weigh a part of the run that it lies in, one goes over the part that it lies in.
__device__ inline int draw_id(const LogitRow& row, const Kept& kept, float best, double uniform,
                              SampleShared& shared) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  double target = total_of(shared) * uniform;
  const Run run = run_of_warp(place_of(shared.mass, target), row.vocab);
  const int each = ((run.end - run.begin + kSampleWarps - 1) / kSampleWarps + kWarp - 1) / kWarp * kWarp;
  const auto weight = [&](int id) {
    const float x = row[id];
    return id < run.end && kept(x, id) ? static_cast<double>(expf(x - best)) : 0.0;
  };
  const int begin = run.begin + warp * each;
  double sum = 0;
#pragma unroll 4
  for (int first = begin; first < begin + each; first += kWarp) sum += weight(first + lane);
  sum = sum_of_warp(sum);
  __syncthreads();  // all have read the runs' masses
  if (lane == 0) shared.mass[warp] = sum;
  if (threadIdx.x == 0) shared.id = 0;
  __syncthreads();
  if (place_of(shared.mass, target) == warp) {
    int last = 0, found = -1;  // the last one that weighs anything
    double before = 0;
    for (int first = begin; first < begin + each && found < 0; first += kWarp) {
      double up_to = weight(first + lane);
      if (up_to > 0) last = first + lane;
      for (int apart = 1; apart < kWarp; apart *= 2) {
        const double lower = __shfl_up_sync(kAllLanes, up_to, apart);
        if (lane >= apart) up_to += lower;
      }
      const unsigned above = __ballot_sync(kAllLanes, before + up_to > target);
      if (above) found = first + __ffs(static_cast<int>(above)) - 1;
      before += __shfl_sync(kAllLanes, up_to, kWarp - 1);
    }
    for (int apart = kWarp / 2; apart > 0; apart /= 2)
      last = max(last, __shfl_xor_sync(kAllLanes, last, apart));
    if (lane == 0) shared.id = found >= 0 ? found : last;
  }
  __syncthreads();
  return shared.id;
}

// The lowest id of the largest value.
__device__ inline int first_best_id(const LogitRow& row, float best, SampleShared& shared) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  int chosen = 0;
  while (chosen + 1 < kSampleWarps && shared.best[chosen] != best) ++chosen;
  if (threadIdx.x == 0) shared.id = 0;
  __syncthreads();
  if (warp == chosen) {
    const Run run = run_of_warp(warp, row.vocab);
    for (int first = run.begin; first < run.end; first += kWarp) {
      const unsigned equal = __ballot_sync(kAllLanes, first + lane < run.end && row[first + lane] == best);
      if (!equal) continue;
      if (lane == 0) shared.id = first + __ffs(static_cast<int>(equal)) - 1;
      break;
    }
  }
  __syncthreads();
  return shared.id;
}

__device__ inline double entropy_of(const LogitRow& row, float best, double total, SampleShared& shared) {
  double sum = 0;
  for (int first = static_cast<int>(threadIdx.x) * 4; first < row.vocab; first += kSampleThreads * 4) {
    float x[4];
    row.load_four(first, x);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float below = x[i] - best;
      if (below > -INFINITY) sum += expf(below) * below;
    }
  }
  sum = sum_of_warp(sum);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) shared.mass[threadIdx.x / kWarp] = sum;
  __syncthreads();
  const double entropy = log(total) - total_of(shared) / total;
  __syncthreads();
  return entropy;
}

__global__ void __launch_bounds__(kSampleThreads) sample_row(const SampleRows work) {
  __shared__ SampleShared shared;
  const int64_t r = blockIdx.x;
  if (work.first + r >= *work.count) return;
  const bool greedy = work.temperature == 0;
  const LogitRow row = {work.logits + r * work.vocab, work.allowed, static_cast<int>(work.vocab),
                        inverse_temperature_of(work.temperature)};
  float of_thread;
  const float best = weigh(row, of_thread, shared);
  const double total = total_of(shared);
  double restricted = total;
  Kept kept;
  if ((work.top_k > 0 || work.top_p < 1.0) && (!greedy || work.reference_confidence)) {
    kept =
        restrict_row(row, best, of_thread, static_cast<int>(min(work.top_k, work.vocab)), work.top_p, shared);
    weigh_kept(row, kept, best, shared);
    restricted = total_of(shared);
  }
  const int id =
      greedy ? first_best_id(row, best, shared) : draw_id(row, kept, best, work.uniforms[r], shared);
  const RowScale scale = {best, static_cast<float>(log(total))};
  const float log_prob = log_prob_of(row[id], scale);
  float score = work.reference_confidence
                    ? static_cast<float>(exp(static_cast<double>(row[id] - best)) / restricted)
                    : expf(log_prob);
  if (work.score == Score::kMinusEntropy) score = -static_cast<float>(entropy_of(row, best, total, shared));
  if (work.score == Score::kLot) score = work.lots[r];
  if (threadIdx.x == 0) {
    work.drawn[r].token = id;
    work.drawn[r].log_prob = log_prob;
    work.drawn[r].score = score;
    if (work.scales) work.scales[r] = scale;
  }
}

// A thread for each masked position; those of a block stand side by side.
__global__ void accept_position(const AcceptDrawn work) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t rows = *work.count;
  if (i >= rows) return;
  const int64_t block = work.cells[i] / work.block_size;
  int64_t first = i, end = i + 1;
  while (first > 0 && work.cells[first - 1] / work.block_size == block) --first;
  while (end < rows && work.cells[end] / work.block_size == block) ++end;
  const int64_t quota = work.quotas[block];
  const float score = work.drawn[i].score;
  int64_t before = 0, sure = 0;
  float entropy = -score;  // its own and of those before it
  for (int64_t j = first; j < end; ++j) {
    const float other = work.drawn[j].score;
    sure += other > work.threshold;
    if (j == i || !(other > score || (other == score && j < i))) continue;
    ++before;
    entropy -= other;
  }
  bool accepted = before < quota;
  if (work.rule == Acceptance::kLeftmost) accepted = i - first < quota;
  if (work.rule == Acceptance::kAboveThreshold && sure >= quota) accepted = score > work.threshold;
  if (work.rule == Acceptance::kEntropyBounded) accepted = accepted || entropy <= work.entropy_bound;
  work.drawn[i].accepted = accepted;
}

}  // namespace bicrl::gpu
