#include "trainer/update/scored_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"
#include "policy/distribution.h"
#include "policy/head.h"

namespace bicrl {
namespace {

// fp32 logits of a chunk: 32 MiB, and a few times that while its gradient is taken. On a GPU 256 MiB: every
// chunk reads and writes the sum of the head's gradient once.
constexpr int64_t kLogitsPerChunk = int64_t{1} << 23;
constexpr int64_t kLogitsPerGpuChunk = int64_t{1} << 26;

}  // namespace

at::Tensor ScoredChunk::part(const at::Tensor& per_token) const {
  return per_token.narrow(0, begin, log_probs.size(0)).to(log_probs.scalar_type());
}

ScoredPass::ScoredPass(const Transformer& policy, at::Tensor allowed, double temperature)
    : policy_(policy), allowed_(std::move(allowed)), temperature_(temperature) {
  BICRL_CHECK(allowed_.numel() == policy.config().vocab_size);
}

int64_t ScoredPass::rows_per_chunk(const PolicyConfig& config, c10::DeviceType device) {
  const int64_t logits = device == c10::DeviceType::CPU ? kLogitsPerChunk : kLogitsPerGpuChunk;
  return std::max<int64_t>(logits / config.vocab_size, 1);
}

at::Tensor ScoredPass::chunk_logits(const at::Tensor& rows) const {
  const at::NoGradGuard guard;
  return policy_.logits(rows).requires_grad_(true);
}

at::Tensor ScoredPass::head_backward(const at::Tensor& logits_gradient, const at::Tensor& rows) const {
  return policy_.has_adapters() ? frozen_head_backward(logits_gradient, policy_.head())
                                : bicrl::head_backward(logits_gradient, rows, policy_.head());
}

PackedAttention ScoredPass::attention_of(const PackedBatch& batch) const {
  return {batch.segments, batch.rows(), policy_.config().block_size, policy_.device()};
}

at::Tensor ScoredPass::scored_hidden(const PackedBatch& batch, PackedAttention& attention) const {
  return policy_.hidden(batch.tokens, batch.positions, attention).index_select(0, batch.selected);
}

ScoredChunk ScoredPass::score(const at::Tensor& logits, const PackedBatch& batch, int64_t begin) const {
  const auto all = policy_log_softmax(logits, allowed_, temperature_);
  ScoredChunk chunk;
  chunk.begin = begin;
  chunk.log_probs = all.gather(1, batch.labels.narrow(0, begin, logits.size(0)).unsqueeze(1)).squeeze(1);
  const auto values = all.detach();
  // The clamp turns 0 * -inf of forbidden ids into 0.
  chunk.entropy = (values.exp() * values.clamp_min(-1e30)).sum(-1).neg();
  return chunk;
}

at::Tensor ScoredPass::log_probs(const PackedBatch& batch) const {
  const at::NoGradGuard guard;
  PackedAttention attention = attention_of(batch);
  const auto hidden = scored_hidden(batch, attention);
  auto result = at::empty_like(batch.old_log_probs);
  const int64_t step = rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const int64_t rows = std::min(step, batch.scored() - begin);
    const auto logits = policy_.logits(hidden.narrow(0, begin, rows));
    result.narrow(0, begin, rows).copy_(score(logits, batch, begin).log_probs);
  }
  return result;
}

void ScoredPass::backward(const PackedBatch& batch,
                          const std::function<at::Tensor(const ScoredChunk&)>& loss) const {
  PackedAttention attention = attention_of(batch);  // what is recomputed attends once more
  const auto hidden = scored_hidden(batch, attention);
  const auto values = hidden.detach();
  // Each chunk's graph reaches from its loss to its logits and is freed before the next chunk's exist; the
  // body's graph is walked once, at the end.
  auto gradient = at::empty_like(values);
  const int64_t step = rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const int64_t count = std::min(step, batch.scored() - begin);
    const auto rows = values.narrow(0, begin, count);
    const auto logits = chunk_logits(rows);
    loss(score(logits, batch, begin)).backward();
    gradient.narrow(0, begin, count).copy_(head_backward(logits.grad(), rows));
  }
  hidden.backward(gradient);
}

}  // namespace bicrl
