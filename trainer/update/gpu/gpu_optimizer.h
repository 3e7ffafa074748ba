// Clipping and AdamW by kernels on an NVIDIA GPU (optimizer_kernels.h). Refers to the store. Not thread-safe.
#pragma once
#include <c10/core/Event.h>

#include "trainer/update/optimizer/fused_optimizer.h"

namespace bicrl {

class GpuOptimizer : public FusedOptimizer {
 public:
  // Of stores on a GPU, in bf16 or fp32.
  static bool supports(const ParameterStore& store);
  explicit GpuOptimizer(ParameterStore& store);

  void measure(double max_norm, PartExtent summed, ControlPlane& control) override;
  void step(const AdamWState& state, const AdamWNumbers& numbers) override;
  void finish() override;
  Outcome outcome() override;

 private:
  // The sum of squares of each shard's part of each group, from the first of these shards to the last.
  void sum_squares_of(int64_t first_shard, int64_t end_shard, PartExtent summed);
  void exchange_squares(ControlPlane& control);
  void find_factor(double max_norm, int64_t arrays);

  ParameterStore& store_;
  at::Tensor parts_;    // [arrays, kSquareParts] fp64, on the device
  at::Tensor squares_;  // [arrays] fp64
  at::Tensor norm_;     // [1] fp64
  at::Tensor factor_;   // [1] fp32
  at::Tensor largest_;  // [1] int32
  at::Tensor host_;     // [2] fp64, pinned: norm and largest
  c10::Event finished_{c10::DeviceType::CUDA};
};

}  // namespace bicrl
