// One forward of a decode engine: runs the policy over the rows of all segments, and draws and accepts
// candidates on the device. What comes back to the host is one small copy. Refers to policy and settings; not
// thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/cached_attention.h"
#include "policy/transformer.h"
#include "rollout/decoding_settings.h"
#include "rollout/sampling.h"
#include "rollout/step_state.h"

namespace bicrl {

// For every masked position of a StepState, in its order.
struct StepResult {
  std::vector<int64_t> tokens;
  std::vector<float> log_probs;
  std::vector<char> accepted;
};

class DenoiseStep {
 public:
  // The head's logits are made in pieces of at most this many values.
  static constexpr int64_t kLogitsAtOnce = int64_t{1} << 25;

  // allowed: [vocab] bool.
  DenoiseStep(const Transformer& policy, const at::Tensor& allowed) : policy_(policy), allowed_(allowed) {}
  // `attention` has planned the state's segments, and the step's buffer is uploaded.
  StepResult run(const StepState& state, const DecodingSettings& settings, CachedAttention& attention) const;

 private:
  Candidates draw(const StepState& state, const DecodingSettings& settings, const at::Tensor& hidden) const;
  at::Tensor pick(const StepState& state, const DecodingSettings& settings, const at::Tensor& hidden) const;

  const Transformer& policy_;
  at::Tensor allowed_;
};

}  // namespace bicrl
