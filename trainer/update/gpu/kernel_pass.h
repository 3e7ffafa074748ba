// The scored pass by kernels on an NVIDIA GPU, for a policy in bf16: the written-out pass of its layers
// (policy/pass/policy_pass.h) and the fused head. Nothing in it waits for the device. Refers to the policy.
#pragma once
#include <optional>

#include "policy/gpu/head/fused_head.h"
#include "policy/gpu/pass/gpu_pass_operations.h"
#include "policy/pass/policy_pass.h"
#include "trainer/update/memory/pass_memory.h"
#include "trainer/update/scored_pass.h"

namespace bicrl {

class KernelPass : public ScoredPass {
 public:
  // Empty if there are kernels for such a policy, else the reason why there are none.
  static std::string refusal(const PolicyConfig& config, at::Device device, at::ScalarType dtype);
  static PassMemory memory(const PolicyConfig& config, const PassShape& shape, const PassSettings& settings);

  KernelPass(const Transformer& policy, at::Tensor allowed, Recompute recompute);

  void reserve(const Packs::Extent& largest) override;
  void release() override;
  at::Tensor log_probs(const PackedBatch& batch, double temperature) override;
  void backward(const PackedBatch& batch, double temperature, const Loss& loss, GradientSink& sink) override;
  bool walks_graph() const override { return false; }
  FaultReport take_fault_report() override;

 private:
  // Of reserve(), or of one pass.
  struct Memory {
    PolicyPass pass;
    gpu::FusedHead head;
  };
  class Use;  // of the memory, by a pass
  void make_memory(int64_t rows, int64_t scored);
  PassInput input_of(const PackedBatch& batch, TrainingAttention& attention) const;
  // Of the scored tokens from `begin` on that the hidden rows are of.
  gpu::FusedHead::Scores score(const PackedBatch& batch, const at::Tensor& hidden, int64_t begin,
                               double temperature, bool keeps);
  at::Tensor head_sum(GradientSink& sink) const;  // undefined if the head is frozen

  const Transformer& policy_;
  at::Tensor allowed_;
  Recompute recompute_;
  std::unique_ptr<AttentionBackend> attention_;
  gpu::GpuPassOperations operations_;
  std::optional<Memory> memory_;
  bool is_reserved_ = false;
};

}  // namespace bicrl
