#include "rollout/denoise_step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

template <class T>
at::Tensor on_device(const std::vector<T>& values, at::Device device) {
  return at::tensor(values, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value)).to(device);
}

}  // namespace

void StepRows::add_segment(const CachedSegment& segment, const int64_t* first) {
  segments.push_back(segment);
  tokens.insert(tokens.end(), first, first + segment.rows);
}

void StepRows::begin_block(int64_t quota) { quotas.push_back(quota); }

void StepRows::add_masked(int64_t offset, double uniform, double lot) {
  head_rows.push_back(static_cast<int64_t>(tokens.size()) - block_size_ + offset);
  cells.push_back((static_cast<int64_t>(quotas.size()) - 1) * block_size_ + offset);
  uniforms.push_back(uniform);
  lots.push_back(static_cast<float>(lot));
}

DenoiseStep::DenoiseStep(const Transformer& policy, const at::Tensor& allowed,
                         const DecodingSettings& settings, KvCache& cache)
    : policy_(policy), allowed_(allowed), settings_(settings), attention_(policy.config(), cache) {}

// For all masked positions, with the logits made in pieces.
Candidates DenoiseStep::draw(const StepRows& rows, const at::Tensor& hidden) const {
  const at::Device device = policy_.device();
  const bool with_entropy = settings_.acceptance.strategy == AcceptanceStrategy::kEntropyBounded;
  const int64_t masked = static_cast<int64_t>(rows.cells.size());
  const at::Tensor selected = hidden.index_select(0, on_device(rows.head_rows, device));  // [masked, hidden]
  const at::Tensor uniforms = on_device(rows.uniforms, device);
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
at::Tensor DenoiseStep::pick(const StepRows& rows, const at::Tensor& hidden) const {
  const at::Device device = policy_.device();
  const Candidates drawn = draw(rows, hidden);
  at::Tensor score = drawn.confidence;
  if (settings_.acceptance.strategy == AcceptanceStrategy::kEntropyBounded) score = drawn.entropy.neg();
  if (settings_.acceptance.strategy == AcceptanceStrategy::kRandom) score = on_device(rows.lots, device);

  const int64_t blocks = static_cast<int64_t>(rows.quotas.size()), b = policy_.config().block_size;
  const at::Tensor cells = on_device(rows.cells, device);
  const at::Tensor grid = at::zeros({blocks * b}, score.options()).index_copy_(0, cells, score);
  const at::Tensor is_masked = at::zeros({blocks * b}, allowed_.options()).index_fill_(0, cells, 1);
  const at::Tensor accepted = accept(settings_.acceptance, grid.view({blocks, b}),
                                     is_masked.view({blocks, b}), on_device(rows.quotas, device));
  return at::stack({drawn.tokens.to(at::kDouble), drawn.log_probs.to(at::kDouble),
                    accepted.reshape(-1).index_select(0, cells).to(at::kDouble)});
}

StepResult DenoiseStep::run(const StepRows& rows) {
  const c10::InferenceMode inference;
  attention_.begin(rows.segments);
  const at::Tensor hidden =
      policy_.hidden(on_device(rows.tokens, policy_.device()), attention_.positions(), attention_);
  attention_.commit();
  StepResult result;
  if (rows.cells.empty()) return result;
  const at::Tensor picked = pick(rows, hidden).cpu();
  const auto values = picked.accessor<double, 2>();
  for (int64_t i = 0; i < picked.size(1); ++i) {
    result.tokens.push_back(static_cast<int64_t>(values[0][i]));
    result.log_probs.push_back(static_cast<float>(values[1][i]));
    result.accepted.push_back(values[2][i] != 0.0);
  }
  return result;
}

}  // namespace bicrl
