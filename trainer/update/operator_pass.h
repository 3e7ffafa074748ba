// The scored pass by torch's operators and autograd: for every device and type. Refers to the policy.
#pragma once
#include <utility>
#include <vector>

#include "policy/attention/training_attention.h"
#include "trainer/update/scored_pass.h"

namespace bicrl {

class OperatorPass : public ScoredPass {
 public:
  // So many rows have logits at a time.
  static int64_t rows_per_chunk(const PolicyConfig& config, c10::DeviceType device);

  OperatorPass(const Transformer& policy, at::Tensor allowed);

  at::Tensor log_probs(const PackedBatch& batch, double temperature) override;
  void backward(const PackedBatch& batch, double temperature, const Loss& loss, GradientSink& sink) override;
  // Without a sink, as it needs none.
  void backward(const PackedBatch& batch, double temperature, const Loss& loss);
  bool walks_graph() const override { return true; }
  FaultReport take_fault_report() override;

 private:
  std::unique_ptr<TrainingAttention> attention_of(const PackedBatch& batch) const;
  at::Tensor scored_hidden(const PackedBatch& batch, TrainingAttention& attention) const;  // [scored, hidden]
  at::Tensor chunk_logits(const at::Tensor& rows) const;  // [rows, vocab] fp32, a leaf that takes a gradient
  ScoredChunk score(const at::Tensor& logits, const PackedBatch& batch, int64_t begin,
                    double temperature) const;
  at::Tensor head_backward(const at::Tensor& logits_gradient, const at::Tensor& rows) const;
  std::string fault_of(const PackedBatch& batch, double temperature);  // empty: none in a forward pass
  int64_t rows_per_chunk() const { return rows_per_chunk(policy_.config(), policy_.device().type()); }

  const Transformer& policy_;
  at::Tensor allowed_;
  std::unique_ptr<AttentionBackend> attention_;
  std::vector<std::pair<PackedBatch, double>> passed_;  // with their temperature; since the last fault report
};

}  // namespace bicrl
