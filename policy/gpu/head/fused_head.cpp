#include "policy/gpu/head/fused_head.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"
#include "policy/gpu/tensor_pointers.h"
#include "policy/pass/policy_pass.h"

namespace bicrl::gpu {
namespace {

// Rows of rows_.
enum RowArray : int64_t {
  kBest,
  kReference,
  kSum,
  kMoment,
  kLabel,
  kLogProb,
  kEntropy,
  kLogLikelihood,
  kOdds,
  kFactor,
  kLabelFactor,
  kTileReferences
};

int64_t padded(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }
int64_t tiles_of(int64_t vocab) { return (vocab + kHeadTileIds - 1) / kHeadTileIds; }
int64_t weights_stride(int64_t vocab) { return padded(vocab, 8); }

int64_t bytes_of_row(const PolicyConfig& c) {
  constexpr int64_t kFloat = sizeof(float), kHalf = sizeof(BFloat16);
  return kHeadTileIds * kFloat + weights_stride(c.vocab_size) * kHalf +
         (kTileReferences + tiles_of(c.vocab_size)) * kFloat;
}

}  // namespace

int64_t FusedHead::rows_per_chunk(const PolicyConfig& config, int64_t rows) {
  const int64_t most =
      (kMostBytes - MatrixProducts::kWorkspaceBytes - padded(config.vocab_size, 4)) / bytes_of_row(config);
  const int64_t chunks = std::max<int64_t>((rows + most - 1) / most, 1);
  return std::max<int64_t>((rows + chunks - 1) / chunks, 1);
}

int64_t FusedHead::bytes(const PolicyConfig& config, int64_t rows) {
  return rows_per_chunk(config, rows) * bytes_of_row(config) + padded(config.vocab_size, 4);
}

FusedHead::FusedHead(const Transformer& policy, const at::Tensor& allowed, GpuPassOperations& operations,
                     int64_t rows)
    : policy_(policy),
      operations_(operations),
      vocab_(policy.config().vocab_size),
      rows_per_chunk_(rows_per_chunk(policy.config(), rows)) {
  const at::NoGradGuard guard;
  const int64_t hidden = policy.config().hidden_size;
  const auto narrow = at::TensorOptions().device(policy.device()).dtype(at::kBFloat16);
  const auto wide = narrow.dtype(at::kFloat);
  allowed_ = at::zeros({padded(vocab_, 4)}, narrow.dtype(at::kByte));
  allowed_.narrow(0, 0, vocab_).copy_(allowed);
  logits_ = at::empty({rows_per_chunk_, kHeadTileIds}, wide);
  weights_ = at::empty({rows_per_chunk_, weights_stride(vocab_)}, narrow);
  rows_ = at::empty({kTileReferences + tiles_of(vocab_), rows_per_chunk_}, wide);
  // Logits are not looked at any more when these are written.
  const at::Tensor flat = logits_.view({-1});
  const int64_t count = rows_per_chunk_ * hidden;
  BICRL_CHECK(2 * count <= flat.numel(), "a hidden_size of ", hidden);
  product_ = flat.narrow(0, 0, count).view({rows_per_chunk_, hidden});
  scaled_ =
      flat.narrow(0, count, count).view(at::kBFloat16).narrow(0, 0, count).view({rows_per_chunk_, hidden});
}

float* FusedHead::row(int64_t index) const { return fp32(rows_) + index * rows_per_chunk_; }

at::Tensor FusedHead::tile_logits(const at::Tensor& hidden, int64_t first, int64_t ids) {
  const at::Tensor out = logits_.narrow(0, 0, hidden.size(0)).narrow(1, 0, ids);
  operations_.multiply(
      {.a = hidden, .b = policy_.head().narrow(0, first, ids), .b_transposed = true, .out = out});
  return out;
}

HeadRowState FusedHead::state() const {
  return {row(kBest), row(kReference), row(kSum), row(kMoment), row(kLabel)};
}

void FusedHead::exclude(int64_t rows, const at::Tensor& counts, const HeadOthers& others, bool keeps) {
  head_excluded({.rows = rows,
                 .excluded = int64s(counts),
                 .others = others,
                 .state = state(),
                 .log_prob = row(kLogProb),
                 .log_likelihood = row(kLogLikelihood),
                 .odds = row(kOdds),
                 .weights = keeps ? bf16(weights_) : nullptr,
                 .weights_stride = weights_.size(1)},
                current_stream());
}

// A tile's logits are gone when the next one's are made.
void FusedHead::pass_tiles(const at::Tensor& hidden, const at::Tensor& labels, const HeadOthers& others,
                           bool keeps) {
  const auto* allowed = static_cast<const uint8_t*>(allowed_.const_data_ptr());
  const auto temperature = static_cast<float>(temperature_);
  for (int64_t first = 0; first < vocab_; first += kHeadTileIds) {
    const int64_t ids = std::min(kHeadTileIds, vocab_ - first);
    const float* const logits = fp32(tile_logits(hidden, first, ids));
    head_tile({.rows = hidden.size(0),
               .vocab = vocab_,
               .first = first,
               .ids = ids,
               .logits = logits,
               .allowed = allowed,
               .labels = int64s(labels),
               .temperature = temperature,
               .state = state(),
               .weights = keeps ? bf16(weights_) : nullptr,
               .weights_stride = weights_.size(1),
               .tile_reference = row(kTileReferences + first / kHeadTileIds)},
              current_stream());
    head_other_logits({.first = first,
                       .ids = ids,
                       .logits = logits,
                       .allowed = allowed,
                       .temperature = temperature,
                       .others = others},
                      current_stream());
  }
}

FusedHead::Scores FusedHead::score(const at::Tensor& hidden, const at::Tensor& labels,
                                   const Excluded& excluded, const at::Tensor& named, double temperature,
                                   bool keeps) {
  const at::NoGradGuard guard;
  const int64_t rows = hidden.size(0);
  BICRL_CHECK(rows <= rows_per_chunk_, "a chunk of ", rows, " rows, there is room for ", rows_per_chunk_);
  temperature_ = temperature;
  excludes_ = excluded.counts.defined();
  at::Tensor other_logits;
  HeadOthers others;
  if (excludes_ && excluded.other_ids.defined()) {
    other_logits = at::empty(excluded.other_ids.sizes(), logits_.options());
    others = {.count = other_logits.numel(),
              .first_row = excluded.first_row,
              .rows = int64s(excluded.other_rows),
              .ids = int64s(excluded.other_ids),
              .logits = fp32(other_logits)};
  }
  pass_tiles(hidden, labels, others, keeps);
  head_rows({.rows = rows,
             .tiles = tiles_of(vocab_),
             .vocab = vocab_,
             .state = state(),
             .log_prob = row(kLogProb),
             .entropy = row(kEntropy),
             .weights = keeps ? bf16(weights_) : nullptr,
             .weights_stride = weights_.size(1),
             .tile_reference = row(kTileReferences),
             .tile_reference_stride = rows_per_chunk_,
             .row_index = int64s(named),
             .fault = operations_.fault_record(PolicyPass::head_stage(policy_.config().layers))},
            current_stream());
  if (excludes_) exclude(rows, excluded.counts, others, keeps);
  const auto result = [&](int64_t index) { return rows_[index].narrow(0, 0, rows); };
  return {result(excludes_ ? kLogLikelihood : kLogProb), result(kEntropy)};
}

void FusedHead::gradient(const at::Tensor& grad, const at::Tensor& hidden, const at::Tensor& labels,
                         const at::Tensor& grad_hidden, const at::Tensor& weight_sum) {
  const at::NoGradGuard guard;
  const int64_t rows = hidden.size(0), width = hidden.size(1);
  const at::Tensor weights = weights_.narrow(0, 0, rows).narrow(1, 0, vocab_),
                   product = product_.narrow(0, 0, rows), scaled = scaled_.narrow(0, 0, rows);
  head_factors({.rows = rows,
                .width = width,
                .grad = fp32(grad),
                .log_prob = row(kLogProb),
                .sum = row(kSum),
                .odds = excludes_ ? row(kOdds) : nullptr,
                .temperature = static_cast<float>(temperature_),
                .hidden = bf16(hidden),
                .factor = row(kFactor),
                .label_factor = row(kLabelFactor),
                .scaled = weight_sum.defined() ? bf16(scaled) : nullptr},
               current_stream());
  operations_.multiply({.a = weights, .b = policy_.head(), .out = product});
  head_gradient_rows({.rows = rows,
                      .width = width,
                      .product = fp32(product),
                      .factor = row(kFactor),
                      .label_factor = row(kLabelFactor),
                      .labels = int64s(labels),
                      .weight = bf16(policy_.head()),
                      .out = bf16(grad_hidden)},
                     current_stream());
  if (!weight_sum.defined()) return;
  operations_.multiply(
      {.a = weights, .a_transposed = true, .b = scaled, .addend = weight_sum, .out = weight_sum});
  head_label_rows({.rows = rows,
                   .width = width,
                   .labels = int64s(labels),
                   .label_factor = row(kLabelFactor),
                   .hidden = bf16(hidden),
                   .sum = fp32(weight_sum)},
                  current_stream());
}

}  // namespace bicrl::gpu
