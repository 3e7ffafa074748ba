// A denoise step by torch's operators and the CPU's kernels: runs every policy on every device, and is what
// other implementations are checked against. Refers to policy, cache and buffer; not thread-safe.
#pragma once
#include <vector>

#include "policy/attention/cached_attention.h"
#include "rollout/decoding/denoise_step.h"
#include "rollout/decoding/sampling.h"

namespace bicrl {

class OperatorStep : public DenoiseStep {
 public:
  // The head's logits are made in pieces of at most this many values.
  static constexpr int64_t kLogitsAtOnce = int64_t{1} << 25;

  OperatorStep(const Transformer& policy, const at::Tensor& allowed, int64_t max_rows, KvCache& cache,
               StepBuffer& buffer);
  void open(const DecodingSettings& settings) override { settings_ = settings; }
  // Computes in finish(): operators would keep the host busy anyway.
  void begin(const StepState& state) override;
  StepResult finish() override;
  void cancel() override { state_ = nullptr; }

  // As an engine takes it.
  static std::unique_ptr<DenoiseStep> make(const Transformer& policy, const at::Tensor& allowed,
                                           const EngineCapacity& capacity, KvCache& cache,
                                           StepBuffer& buffer);

  static StepMemory memory(const PolicyConfig& config, c10::ScalarType dtype, const EngineCapacity& capacity);

 private:
  // Of all ids, in pieces of rows; empty if the record does not need them.
  struct Distributions {
    std::vector<at::Tensor> log_probs;  // [rows, vocab] each
    std::vector<at::Tensor> kept;       // Candidates::kept
  };
  Candidates draw(const StepState& state, const at::Tensor& hidden, Distributions& all) const;
  StepResult pick(const StepState& state, const at::Tensor& hidden) const;
  bool records_rejected() const;
  bool records_kept() const;

  const Transformer& policy_;
  at::Tensor allowed_;
  StepBuffer& buffer_;
  CachedAttention attention_;
  DecodingSettings settings_;
  const StepState* state_ = nullptr;  // that was begun
};

}  // namespace bicrl
