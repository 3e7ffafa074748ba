#include "rollout/operator_step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace bicrl {

OperatorStep::OperatorStep(const Transformer& policy, const at::Tensor& allowed, int64_t max_rows,
                           KvCache& cache, StepBuffer& buffer)
    : policy_(policy),
      allowed_(allowed),
      buffer_(buffer),
      attention_(policy.config(), max_rows, cache, buffer) {}

StepMemory OperatorStep::memory(const PolicyConfig& config, c10::ScalarType dtype,
                                const EngineCapacity& capacity) {
  return {.fixed_bytes = decoding_workspace_bytes(config, dtype, capacity.sequences, 0),
          .bytes_per_page = decoding_workspace_bytes(config, dtype, 0, KvCache::kPageTokens),
          .held_bytes = 0};
}

// For all masked positions, with the logits made in pieces.
Candidates OperatorStep::draw(const StepState& state, const at::Tensor& hidden) const {
  const bool with_entropy = settings_.acceptance.strategy == AcceptanceStrategy::kEntropyBounded;
  const int64_t masked = state.masked();
  const at::Tensor selected = hidden.index_select(0, state.head_rows.tensor());  // [masked, hidden]
  const at::Tensor uniforms = state.uniforms.tensor();
  const int64_t piece = std::max(kLogitsAtOnce / policy_.config().vocab_size, int64_t{1});
  std::vector<at::Tensor> tokens, log_probs, confidence, entropy;
  for (int64_t first = 0; first < masked; first += piece) {
    const int64_t count = std::min(piece, masked - first);
    const Candidates part =
        sample_candidates(policy_.logits(selected.narrow(0, first, count)), allowed_,
                          uniforms.narrow(0, first, count), settings_.sampling, with_entropy);
    tokens.push_back(part.tokens);
    log_probs.push_back(part.log_probs);
    confidence.push_back(part.confidence);
    if (with_entropy) entropy.push_back(part.entropy);
  }
  return {at::cat(tokens), at::cat(log_probs), at::cat(confidence),
          with_entropy ? at::cat(entropy) : at::Tensor()};
}

// [3, masked] fp64: token, log-probability, accepted. fp64 holds each of them exactly, so one copy carries
// all.
at::Tensor OperatorStep::pick(const StepState& state, const at::Tensor& hidden) const {
  const Candidates drawn = draw(state, hidden);
  at::Tensor score = drawn.confidence;
  if (settings_.acceptance.strategy == AcceptanceStrategy::kEntropyBounded) score = drawn.entropy.neg();
  if (settings_.acceptance.strategy == AcceptanceStrategy::kRandom) score = state.lots.tensor();

  const int64_t blocks = state.blocks(), b = policy_.config().block_size;
  const at::Tensor cells = state.cells.tensor();
  const at::Tensor grid = at::zeros({blocks * b}, score.options()).index_copy_(0, cells, score);
  const at::Tensor is_masked = at::zeros({blocks * b}, allowed_.options()).index_fill_(0, cells, 1);
  const at::Tensor accepted = accept(settings_.acceptance, grid.view({blocks, b}),
                                     is_masked.view({blocks, b}), state.quotas.tensor());
  return at::stack({drawn.tokens.to(at::kDouble), drawn.log_probs.to(at::kDouble),
                    accepted.reshape(-1).index_select(0, cells).to(at::kDouble)});
}

std::unique_ptr<DenoiseStep> OperatorStep::make(const Transformer& policy, const at::Tensor& allowed,
                                                const EngineCapacity& capacity, KvCache& cache,
                                                StepBuffer& buffer) {
  return std::make_unique<OperatorStep>(policy, allowed, capacity.max_rows(policy.config().block_size), cache,
                                        buffer);
}

void OperatorStep::begin(const StepState& state) {
  attention_.begin(state.segments());
  buffer_.upload();
  state_ = &state;
}

StepResult OperatorStep::finish() {
  BICRL_CHECK(state_ != nullptr, "no step was begun");
  const StepState& state = *std::exchange(state_, nullptr);
  const c10::InferenceMode inference;
  const at::Tensor hidden = policy_.hidden(state.tokens.tensor(), attention_.positions(), attention_);
  attention_.commit();
  StepResult result;
  if (state.masked() == 0) return result;
  const at::Tensor picked = pick(state, hidden).cpu();
  const auto values = picked.accessor<double, 2>();
  for (int64_t i = 0; i < picked.size(1); ++i) {
    result.tokens.push_back(static_cast<int64_t>(values[0][i]));
    result.log_probs.push_back(static_cast<float>(values[1][i]));
    result.accepted.push_back(values[2][i] != 0.0);
  }
  return result;
}

}  // namespace bicrl
