// Rows that drew none of several ids, on the device: their log-likelihood, and what their gradient needs.
//
// With m the mass of the excluded ids, the likelihood is 1 - m. The gradient of its logarithm is, of the
// logit of an id with probability p, p m / (1 - m), and of an excluded one -p. So the row's factor
// (head_kernels.h) has the odds m / (1 - m), and the weight of an excluded id is divided by minus these.
#pragma once
#include "policy/gpu/head/head_kernels.h"
#include "policy/gpu/pass/pass_elements.cuh"

namespace bicrl::gpu {

// A mass beyond it counts as it, without a gradient, as in log_complement() (rollout/record/rejected_mass.h).
constexpr double kMostExcluded = 1 - 0x1p-20;
// Odds of a row that drew its label.
constexpr float kDrewLabel = -1;

struct OtherLogitsArguments {
  const float* logits;     // of the tile
  const uint8_t* allowed;  // of the tile's ids
  HeadOthers others;
  float scale;
  int first, ids;
};

// A thread for each id, whichever tile it lies in.
__global__ void __launch_bounds__(kPassThreads) head_other_logit(const OtherLogitsArguments a) {
  const int64_t i = int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  if (i >= a.others.count) return;
  const int64_t id = a.others.ids[i] - a.first, row = a.others.rows[i] - a.others.first_row;
  if (id < 0 || id >= a.ids) return;
  a.others.logits[i] = a.allowed[id] ? a.logits[row * kHeadTileIds + id] * a.scale : -INFINITY;
}

struct ExcludedArguments {
  const int64_t* excluded;
  HeadOthers others;
  HeadRowState state;
  const float* log_prob;
  float *log_likelihood, *odds;
  __nv_bfloat16* weights;
  int64_t weights_stride;
  int rows;
};

// The place of the first of a row's ids.
__device__ inline int64_t first_other(const HeadOthers& others, int64_t row) {
  int64_t begin = 0, end = others.count;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    if (others.rows[middle] - others.first_row < row)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

// A warp for each row.
__global__ void __launch_bounds__(kPassThreads) head_excluded_row(const ExcludedArguments a) {
  const int lane = threadIdx.x % kWarp;
  const int row = (static_cast<int>(blockIdx.x) * kPassThreads + static_cast<int>(threadIdx.x)) / kWarp;
  if (row >= a.rows) return;
  const int64_t excluded = a.excluded[row];
  if (excluded == 0) {
    if (lane == 0) a.log_likelihood[row] = a.log_prob[row];
    if (lane == 0) a.odds[row] = kDrewLabel;
    return;
  }
  const float reference = a.state.reference[row];
  const int64_t begin = excluded > 1 ? first_other(a.others, row) : 0, end = begin + excluded - 1;
  double weight = 0;
  for (int64_t i = begin + lane; i < end; i += kWarp) weight += exp2f(a.others.logits[i] - reference);
  weight = sum_of_warp(weight) + exp2f(a.state.label[row] - reference);
  const double mass = weight / a.state.sum[row];
  const bool is_bounded = mass > kMostExcluded;  // of NaN it is not
  const double left = is_bounded ? 1 - kMostExcluded : 1 - mass;
  if (lane == 0) {
    a.log_likelihood[row] = static_cast<float>(log1p(is_bounded ? -kMostExcluded : -mass));
    a.odds[row] = is_bounded ? 0.0f : static_cast<float>(mass / left);
  }
  if (!a.weights) return;
  const double factor = mass > 0 ? -left / mass : 0.0;  // of a weight at most `mass` of the sum
  for (int64_t i = begin + lane; i < end; i += kWarp)
    narrow(static_cast<float>(exp2f(a.others.logits[i] - reference) * factor),
           a.weights[row * a.weights_stride + a.others.ids[i]]);
}

}  // namespace bicrl::gpu
