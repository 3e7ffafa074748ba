// Arrays in which a denoise step on a GPU leaves the ids that its rejected candidates exclude. Kernels write
// them straight to pinned memory: few rows have any, most of these a handful, and a row with more marks them
// in a bitmap of its own, so that no number of ids is too large and none waits for another copy. Not
// thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "policy/gpu/gpu_kernels.h"
#include "rollout/record/rejected_mass.h"

namespace bicrl {

// Of masked positions, [drawn.size()]: those that were not accepted, in their order. marks: [.., vocab in
// whole words of 32] of rows that have more ids than are listed.
RejectedMass read_rejected(std::span<const gpu::Drawn> drawn, const gpu::Rejected* rejected,
                           const uint32_t* marks, int64_t vocab);

class RejectedArrays {
 public:
  // Of at most so many masked positions.
  RejectedArrays(int64_t max_masked, int64_t vocab, at::Device device);
  static int64_t device_bytes(int64_t max_masked);

  gpu::RowScale* scales() const;
  gpu::Rejected* rejected() const;
  uint32_t* marks() const;
  // When the device is done with the step.
  RejectedMass read(std::span<const gpu::Drawn> drawn) const;

 private:
  int64_t vocab_;
  at::Tensor scales_;    // [max_masked * sizeof RowScale] bytes
  at::Tensor rejected_;  // [max_masked * sizeof Rejected] bytes, pinned
  at::Tensor marks_;     // [max_masked, words] int32, pinned
};

}  // namespace bicrl
