#include "trainer/update/operator_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"
#include "policy/distribution.h"
#include "policy/head.h"
#include "rollout/record/rejected_mass.h"
#include "trainer/update/attention_choice.h"

namespace bicrl {
namespace {

// fp32 logits of a chunk: 32 MiB, and a few times that while its gradient is taken. On a GPU 256 MiB: every
// chunk reads and writes the sum of the head's gradient once.
constexpr int64_t kLogitsPerChunk = int64_t{1} << 23;
constexpr int64_t kLogitsPerGpuChunk = int64_t{1} << 26;

// Adds the probabilities of ids, each of the token at its place, to `mass`. all: [rows, vocab]
// log-probabilities of a chunk that begins with token `begin`.
at::Tensor add_masses(const at::Tensor& mass, const at::Tensor& all, int64_t begin,
                      const std::vector<int64_t>& host_tokens, const at::Tensor& tokens,
                      const at::Tensor& ids) {
  const auto first = std::ranges::lower_bound(host_tokens, begin);
  const auto end = std::ranges::lower_bound(host_tokens, begin + all.size(0));
  if (first == end) return mass;
  const auto of_chunk = [&](const at::Tensor& column) {
    return column.narrow(0, first - host_tokens.begin(), end - first);
  };
  const at::Tensor rows = of_chunk(tokens) - begin;
  return mass.index_add(0, rows, all.index({rows, of_chunk(ids)}).exp());
}

// Log-likelihoods of a chunk whose log_probs are the labels' alone: of drawing none of the excluded ids, and
// under the distribution over the ids that were drawn among.
at::Tensor candidate_likelihoods(const ScoredChunk& chunk, const at::Tensor& all, const PackedBatch& batch) {
  at::Tensor drawn_among;  // of tokens without a restriction 1
  if (batch.kept_ids.defined()) {
    const at::Tensor kept = add_masses(at::zeros_like(chunk.log_probs), all, chunk.begin,
                                       batch.host_kept_tokens, batch.kept_tokens, batch.kept_ids);
    drawn_among = at::where(kept.detach().gt(0), kept, at::ones_like(kept));
  }
  const at::Tensor labels = drawn_among.defined() ? chunk.log_probs - drawn_among.log() : chunk.log_probs;
  if (!batch.excluded.defined()) return labels;
  at::Tensor mass = add_masses(chunk.log_probs.exp(), all, chunk.begin, batch.host_other_tokens,
                               batch.other_tokens, batch.other_ids);
  if (drawn_among.defined()) mass = mass / drawn_among;
  const at::Tensor excludes = batch.excluded.narrow(0, chunk.begin, all.size(0)).gt(0);
  return at::where(excludes, log_complement(mass), labels);
}

}  // namespace

at::Tensor ScoredChunk::part(const at::Tensor& per_token) const {
  return per_token.narrow(0, begin, log_probs.size(0)).to(log_probs.scalar_type());
}

OperatorPass::OperatorPass(const Transformer& policy, at::Tensor allowed)
    : policy_(policy),
      allowed_(std::move(allowed)),
      attention_(choose_attention(AttentionShape::of(policy.config(), policy.dtype(), policy.device()))) {
  BICRL_CHECK(allowed_.numel() == policy.config().vocab_size);
}

int64_t OperatorPass::rows_per_chunk(const PolicyConfig& config, c10::DeviceType device) {
  const int64_t logits = device == c10::DeviceType::CPU ? kLogitsPerChunk : kLogitsPerGpuChunk;
  return std::max<int64_t>(logits / config.vocab_size, 1);
}

at::Tensor OperatorPass::chunk_logits(const at::Tensor& rows) const {
  const at::NoGradGuard guard;
  return policy_.logits(rows).requires_grad_(true);
}

at::Tensor OperatorPass::head_backward(const at::Tensor& logits_gradient, const at::Tensor& rows) const {
  return policy_.has_adapters() ? frozen_head_backward(logits_gradient, policy_.head())
                                : bicrl::head_backward(logits_gradient, rows, policy_.head());
}

std::unique_ptr<TrainingAttention> OperatorPass::attention_of(const PackedBatch& batch) const {
  return attention_->make(batch.segments, batch.rows());
}

at::Tensor OperatorPass::scored_hidden(const PackedBatch& batch, TrainingAttention& attention) const {
  return policy_.hidden(batch.tokens, batch.positions, attention).index_select(0, batch.selected);
}

ScoredChunk OperatorPass::score(const at::Tensor& logits, const PackedBatch& batch, int64_t begin,
                                double temperature) const {
  const auto all = policy_log_softmax(logits, allowed_, temperature);
  ScoredChunk chunk;
  chunk.begin = begin;
  chunk.log_probs = all.gather(1, batch.labels.narrow(0, begin, logits.size(0)).unsqueeze(1)).squeeze(1);
  if (batch.excluded.defined() || batch.kept_ids.defined())
    chunk.log_probs = candidate_likelihoods(chunk, all, batch);
  const auto values = all.detach();
  // The clamp turns 0 * -inf of forbidden ids into 0.
  chunk.entropy = (values.exp() * values.clamp_min(-1e30)).sum(-1).neg();
  return chunk;
}

at::Tensor OperatorPass::log_probs(const PackedBatch& batch, double temperature) {
  const at::NoGradGuard guard;
  const auto attention = attention_of(batch);
  const auto hidden = scored_hidden(batch, *attention);
  auto result = at::empty_like(batch.old_log_probs);
  const int64_t step = rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const int64_t rows = std::min(step, batch.scored() - begin);
    const auto logits = policy_.logits(hidden.narrow(0, begin, rows));
    result.narrow(0, begin, rows).copy_(score(logits, batch, begin, temperature).log_probs);
  }
  return result;
}

void OperatorPass::backward(const PackedBatch& batch, double temperature, const Loss& loss, GradientSink&) {
  backward(batch, temperature, loss);
}

void OperatorPass::backward(const PackedBatch& batch, double temperature, const Loss& loss) {
  passed_.emplace_back(batch, temperature);
  const auto attention = attention_of(batch);  // what is recomputed attends once more
  const auto hidden = scored_hidden(batch, *attention);
  const auto values = hidden.detach();
  // Each chunk's graph reaches from its loss to its logits and is freed before the next chunk's exist; the
  // body's graph is walked once, at the end.
  auto gradient = at::empty_like(values);
  const int64_t step = rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const int64_t count = std::min(step, batch.scored() - begin);
    const auto rows = values.narrow(0, begin, count);
    const auto logits = chunk_logits(rows);
    loss(score(logits, batch, begin, temperature)).backward();
    gradient.narrow(0, begin, count).copy_(head_backward(logits.grad(), rows));
  }
  hidden.backward(gradient);
}

// Runs the forward pass once more, and looks.
std::string OperatorPass::fault_of(const PackedBatch& batch, double temperature) {
  const at::NoGradGuard guard;
  std::string fault;
  const auto look = [&](const std::string& name, const at::Tensor& rows, const at::Tensor& named) {
    if (!fault.empty()) return;
    const at::Tensor bad = rows.isfinite().view({rows.size(0), -1}).all(1).logical_not().nonzero();
    if (bad.numel() == 0) return;
    const int64_t row = bad[0][0].item<int64_t>();
    fault = concat("row ", named.defined() ? named[row].item<int64_t>() : row, name);
  };
  const auto attention = attention_of(batch);
  policy_.hidden(batch.tokens, batch.positions, *attention, [&](int64_t layer, const at::Tensor& input) {
    look(layer < policy_.config().layers ? concat(", the input of layer ", layer)
                                         : ", the last layer's output",
         input, {});
  });
  look(", the log-probabilities", log_probs(batch, temperature), batch.selected);
  return fault;
}

ScoredPass::FaultReport OperatorPass::take_fault_report() {
  return [this, passed = std::exchange(passed_, {})] {
    for (size_t i = 0; i < passed.size(); ++i) {
      const std::string fault = fault_of(passed[i].first, passed[i].second);
      if (!fault.empty()) return concat("pack ", i, ", ", fault);
    }
    return std::string("the gradient (the log-probabilities are finite)");
  };
}

}  // namespace bicrl
