// Device side of drawing tokens: one block goes over the logits of a row, each warp over a run of its ids, so
// that sums in the order of the ids are sums over warps first. Reads the row once, and a run of it again for
// the draw; restrictions and entropies read it more often.
#pragma once
#include "policy/gpu/elements.cuh"

namespace bicrl::gpu {

constexpr int kSampleThreads = 512;
constexpr int kSampleWarps = kSampleThreads / kWarp;
constexpr int kMoves = 4;  // of four logits, that a thread has under way: rows come from the device's memory
constexpr int kScanned = kMoves * 4 * kWarp;  // ids that a warp sums up at a time

// The logits of one row at the temperature.
struct LogitRow {
  const float* logits;
  const uint8_t* allowed;
  int vocab;
  float inverse_temperature;

  __device__ float operator[](int id) const {
    return id < vocab && allowed[id] ? logits[id] * inverse_temperature : -INFINITY;
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
    x[0] = may.x ? all.x * inverse_temperature : -INFINITY;
    x[1] = may.y ? all.y * inverse_temperature : -INFINITY;
    x[2] = may.z ? all.z * inverse_temperature : -INFINITY;
    x[3] = may.w ? all.w * inverse_temperature : -INFINITY;
  }
};

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

// The block's shared memory.
struct SampleShared {
  float best[kSampleWarps];
  double mass[kSampleWarps];  // of runs, then of the parts of one; also what entropies are summed up in
  unsigned long long bins[256];
  unsigned long long amount;
  unsigned order;
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

// The largest value, in all threads, and in shared.mass what each warp's run weighs against it.
__device__ inline float weigh(const LogitRow& row, SampleShared& shared) {
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
  for (int id = run.begin + lane; id < run.end; id += kWarp) {
    const float x = row[id];
    if (kept(x, id)) sum += expf(x - best);
  }
  sum = sum_of_warp(sum);
  __syncthreads();
  if (lane == 0) shared.mass[warp] = sum;
  __syncthreads();
}

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

__device__ inline Kept restrict_row(const LogitRow& row, float best, int top_k, double top_p,
                                    SampleShared& shared) {
  Kept kept;
  if (top_k > 0 && top_k < row.vocab)
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
  for (int id = threadIdx.x; id < row.vocab; id += kSampleThreads) {
    const float below = row[id] - best;
    if (below > -INFINITY) sum += expf(below) * below;
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
                        greedy ? 1.0f : 1.0f / work.temperature};
  const float best = weigh(row, shared);
  const double total = total_of(shared);
  double restricted = total;
  Kept kept;
  if ((work.top_k > 0 || work.top_p < 1.0) && (!greedy || work.reference_confidence)) {
    kept = restrict_row(row, best, static_cast<int>(work.top_k), work.top_p, shared);
    weigh_kept(row, kept, best, shared);
    restricted = total_of(shared);
  }
  const int id =
      greedy ? first_best_id(row, best, shared) : draw_id(row, kept, best, work.uniforms[r], shared);
  const float log_prob = row[id] - best - static_cast<float>(log(total));
  float score = work.reference_confidence
                    ? static_cast<float>(exp(static_cast<double>(row[id] - best)) / restricted)
                    : expf(log_prob);
  if (work.score == Score::kMinusEntropy) score = -static_cast<float>(entropy_of(row, best, total, shared));
  if (work.score == Score::kLot) score = work.lots[r];
  if (threadIdx.x == 0) {
    work.drawn[r].token = id;
    work.drawn[r].log_prob = log_prob;
    work.drawn[r].score = score;
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
