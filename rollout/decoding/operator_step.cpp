#include "rollout/decoding/operator_step.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <utility>

#include "common/error.h"

namespace bicrl {
namespace {

// Rows of pieces that follow one another.
at::Tensor select_rows(const std::vector<at::Tensor>& pieces, const std::vector<int64_t>& rows) {
  std::vector<at::Tensor> selected;
  int64_t first = 0;
  auto next = rows.begin();
  for (const at::Tensor& piece : pieces) {
    std::vector<int64_t> inside;
    for (; next != rows.end() && *next < first + piece.size(0); ++next) inside.push_back(*next - first);
    first += piece.size(0);
    selected.push_back(piece.index_select(0, at::tensor(inside, at::kLong).to(piece.device())));
  }
  return at::cat(selected);
}

// Of the masked positions that were not accepted, in their order.
RejectedMass rejected_in_blocks(const AcceptanceSettings& settings, int64_t block_size,
                                std::span<const int64_t> cells, const std::vector<float>& confidences,
                                const std::vector<char>& accepted, const std::vector<at::Tensor>& log_probs,
                                const std::vector<at::Tensor>& kept) {
  const auto masked = static_cast<int64_t>(confidences.size());
  std::vector<int64_t> rows, offsets;
  std::vector<AcceptanceCut> cuts;
  for (int64_t begin = 0, end; begin < masked; begin = end) {
    const int64_t block = cells[begin] / block_size;
    std::vector<float> of_block(static_cast<size_t>(block_size), 0.0f);
    std::vector<char> taken(static_cast<size_t>(block_size), 0);
    bool is_left_over = false;
    for (end = begin; end < masked && cells[end] / block_size == block; ++end) {
      of_block[cells[end] % block_size] = confidences[end];
      taken[cells[end] % block_size] = accepted[end];
      is_left_over |= !accepted[end];
    }
    if (!is_left_over) continue;
    const AcceptanceCut cut = acceptance_cut(settings, of_block, taken);
    for (int64_t i = begin; i < end; ++i) {
      if (accepted[i]) continue;
      rows.push_back(i);
      offsets.push_back(cells[i] % block_size);
      cuts.push_back(cut);
    }
  }
  if (rows.empty()) return {};
  return rejected_mass(select_rows(log_probs, rows), cuts, offsets,
                       kept.empty() ? at::Tensor() : select_rows(kept, rows));
}

// Log of the mass that each row's ids were drawn among. [masked]
at::Tensor log_kept_mass(const std::vector<at::Tensor>& log_probs, const std::vector<at::Tensor>& kept) {
  std::vector<at::Tensor> masses;
  for (size_t i = 0; i < kept.size(); ++i) masses.push_back(kept_mass(log_probs[i], kept[i]).log());
  return at::cat(masses);
}

std::vector<std::vector<int64_t>> ids_of_rows(const std::vector<at::Tensor>& kept) {
  std::vector<std::vector<int64_t>> ids;
  for (const at::Tensor& piece : kept) {
    const size_t first = ids.size();
    ids.resize(first + static_cast<size_t>(piece.size(0)));
    const at::Tensor places = piece.nonzero().cpu();  // [kept, 2], row by row
    const auto place = places.accessor<int64_t, 2>();
    for (int64_t i = 0; i < places.size(0); ++i)
      ids[first + static_cast<size_t>(place[i][0])].push_back(place[i][1]);
  }
  return ids;
}

}  // namespace

OperatorStep::OperatorStep(const Transformer& policy, const at::Tensor& allowed, int64_t max_rows,
                           KvCache& cache, StepBuffer& buffer)
    : policy_(policy),
      allowed_(allowed),
      buffer_(buffer),
      attention_(policy.config(), max_rows, cache, buffer) {}

StepMemory OperatorStep::memory(const PolicyConfig& config, c10::ScalarType dtype,
                                const EngineCapacity& capacity) {
  // Log-probabilities, those of rejected positions, and what masses of them are computed in.
  const int64_t recorded = capacity.keeps_distributions
                               ? 4 * capacity.sequences * config.block_size * config.vocab_size *
                                     static_cast<int64_t>(sizeof(float))
                               : 0;
  return {.fixed_bytes = recorded + decoding_workspace_bytes(config, dtype, capacity.sequences, 0),
          .bytes_per_page = decoding_workspace_bytes(config, dtype, 0, KvCache::kPageTokens),
          .held_bytes = 0};
}

// For all masked positions, with the logits made in pieces.
Candidates OperatorStep::draw(const StepState& state, const at::Tensor& hidden, Distributions& all) const {
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
    if (keeps_distributions(settings_)) all.log_probs.push_back(part.all_log_probs);
    if (records_kept()) all.kept.push_back(part.kept);
  }
  return {at::cat(tokens),
          at::cat(log_probs),
          at::cat(confidence),
          with_entropy ? at::cat(entropy) : at::Tensor(),
          {},
          {}};
}

bool OperatorStep::records_rejected() const {
  return settings_.recorded == CandidateTerms::kRejected &&
         accepts_by_confidence(settings_.acceptance.strategy);
}

bool OperatorStep::records_kept() const {
  return settings_.recorded != CandidateTerms::kNone && settings_.sampling.is_restricted();
}

StepResult OperatorStep::pick(const StepState& state, const at::Tensor& hidden) const {
  Distributions all;
  const Candidates drawn = draw(state, hidden, all);
  at::Tensor score = drawn.confidence;
  if (settings_.acceptance.strategy == AcceptanceStrategy::kEntropyBounded) score = drawn.entropy.neg();
  if (settings_.acceptance.strategy == AcceptanceStrategy::kRandom) score = state.lots.tensor();

  const int64_t blocks = state.blocks(), b = policy_.config().block_size;
  const at::Tensor cells = state.cells.tensor();
  const at::Tensor grid = at::zeros({blocks * b}, score.options()).index_copy_(0, cells, score);
  const at::Tensor is_masked = at::zeros({blocks * b}, allowed_.options()).index_fill_(0, cells, 1);
  const at::Tensor accepted = accept(settings_.acceptance, grid.view({blocks, b}),
                                     is_masked.view({blocks, b}), state.quotas.tensor());
  // fp64 holds each of them exactly, so one copy carries all.
  at::Tensor log_probs = drawn.log_probs.to(at::kDouble);
  if (records_kept()) log_probs = log_probs - log_kept_mass(all.log_probs, all.kept);
  const at::Tensor picked =
      at::stack({drawn.tokens.to(at::kDouble), log_probs,
                 accepted.reshape(-1).index_select(0, cells).to(at::kDouble), score.to(at::kDouble)})
          .cpu();  // [4, masked]
  const auto values = picked.accessor<double, 2>();
  StepResult result;
  std::vector<float> scores;
  for (int64_t i = 0; i < picked.size(1); ++i) {
    result.tokens.push_back(static_cast<int64_t>(values[0][i]));
    result.log_probs.push_back(static_cast<float>(values[1][i]));
    result.accepted.push_back(values[2][i] != 0.0);
    scores.push_back(static_cast<float>(values[3][i]));
  }
  if (records_rejected())
    result.rejected = rejected_in_blocks(settings_.acceptance, b, state.cells.values(), scores,
                                         result.accepted, all.log_probs, all.kept);
  if (records_kept()) result.kept = ids_of_rows(all.kept);
  return result;
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
  return state.masked() == 0 ? StepResult() : pick(state, hidden);
}

}  // namespace bicrl
