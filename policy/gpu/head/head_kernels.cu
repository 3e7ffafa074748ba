#include "policy/gpu/head/head_kernels.h"

#include <algorithm>

#include "common/error.h"
#include "policy/gpu/head/head_excluded.cuh"
#include "policy/gpu/head/head_gradient.cuh"
#include "policy/gpu/head/head_softmax.cuh"
#include "policy/gpu/launch_check.h"

namespace bicrl::gpu {

void head_tile(const HeadTile& work, Stream stream) {
  if (work.rows == 0) return;
  BICRL_CHECK(work.ids > 0 && work.ids <= kHeadTileIds && work.first % kHeadTileIds == 0, "tile of ",
              work.ids, " ids from ", work.first, " on");
  const bool is_last = work.first + work.ids == work.vocab;
  const int64_t padded = is_last ? work.weights_stride - work.first : work.ids;
  head_tile_row<<<static_cast<unsigned>(work.rows), kHeadThreads, 0, stream>>>(
      {work.logits, work.allowed + work.first, work.labels, work.state,
       work.weights ? on_device(work.weights) + work.first : nullptr, work.weights_stride,
       work.tile_reference, kLog2e / work.temperature, static_cast<int>(work.first),
       static_cast<int>(work.ids), static_cast<int>(std::min(padded, kHeadTileIds))});
  check_launch("head_tile");
}

void head_rows(const ScoredRows& work, Stream stream) {
  if (work.rows == 0) return;
  head_row<<<static_cast<unsigned>(work.rows), kPassThreads, 0, stream>>>(
      {work.state, work.log_prob, work.entropy, on_device(work.weights), work.weights_stride,
       work.tile_reference, work.tile_reference_stride, work.row_index, work.fault,
       static_cast<int>(work.tiles), static_cast<int>(work.vocab)});
  check_launch("head_rows");
}

void head_other_logits(const HeadOtherLogits& work, Stream stream) {
  if (work.others.count == 0) return;
  head_other_logit<<<pass_blocks(work.others.count), kPassThreads, 0, stream>>>(
      {work.logits, work.allowed + work.first, work.others, kLog2e / work.temperature,
       static_cast<int>(work.first), static_cast<int>(work.ids)});
  check_launch("head_other_logits");
}

void head_excluded(const HeadExcluded& work, Stream stream) {
  if (work.rows == 0) return;
  head_excluded_row<<<pass_blocks(work.rows * kWarp), kPassThreads, 0, stream>>>(
      {work.excluded, work.others, work.state, work.log_prob, work.log_likelihood, work.odds,
       on_device(work.weights), work.weights_stride, static_cast<int>(work.rows)});
  check_launch("head_excluded");
}

void head_factors(const HeadFactors& work, Stream stream) {
  if (work.rows == 0) return;
  head_factor_row<<<static_cast<unsigned>(work.rows), kPassThreads, 0, stream>>>(
      {work.grad, work.log_prob, work.sum, work.odds, on_device(work.hidden), work.factor, work.label_factor,
       on_device(work.scaled), 1 / work.temperature, static_cast<int>(work.width)});
  check_launch("head_factors");
}

void head_gradient_rows(const HeadGradientRows& work, Stream stream) {
  if (work.rows == 0) return;
  head_gradient_row<<<static_cast<unsigned>(work.rows), kPassThreads, 0, stream>>>(
      {work.product, work.factor, work.label_factor, work.labels, on_device(work.weight), on_device(work.out),
       static_cast<int>(work.width)});
  check_launch("head_gradient_rows");
}

void head_label_rows(const HeadLabelRows& work, Stream stream) {
  if (work.rows == 0) return;
  const int64_t columns = kLabelThreads * BfPack::kSize;
  const dim3 blocks(static_cast<unsigned>(work.rows),
                    static_cast<unsigned>((work.width + columns - 1) / columns));
  head_label_row<<<blocks, kLabelThreads, 0, stream>>>(
      {work.labels, work.label_factor, on_device(work.hidden), work.sum, static_cast<int>(work.rows),
       static_cast<int>(work.width)});
  check_launch("head_label_rows");
}

}  // namespace bicrl::gpu
