#include "trainer/update/gpu/kernel_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"
#include "trainer/update/attention_choice.h"

namespace bicrl {
namespace {

// So that packs of nearly the same size get the same memory from the allocator.
constexpr int64_t kRowStep = 256;
int64_t rounded(int64_t rows) { return (rows + kRowStep - 1) / kRowStep * kRowStep; }

// Of the scored tokens [begin, begin + rows).
gpu::FusedHead::Excluded excluded_of(const PackedBatch& batch, int64_t begin, int64_t rows) {
  gpu::FusedHead::Excluded excluded;
  if (!batch.excluded.defined()) return excluded;
  excluded.counts = batch.excluded.narrow(0, begin, rows);
  excluded.first_row = begin;
  const std::vector<int64_t>& tokens = batch.host_other_tokens;
  const auto first = std::ranges::lower_bound(tokens, begin),
             end = std::ranges::lower_bound(tokens, begin + rows);
  if (first == end) return excluded;
  excluded.other_rows = batch.other_tokens.narrow(0, first - tokens.begin(), end - first);
  excluded.other_ids = batch.other_ids.narrow(0, first - tokens.begin(), end - first);
  return excluded;
}

void require_scorable(const PackedBatch& batch) {
  BICRL_CHECK(!batch.kept_ids.defined(), "kernels score whole distributions alone");
}

}  // namespace

std::string KernelPass::refusal(const PolicyConfig& config, at::Device device, at::ScalarType dtype) {
  return gpu::GpuPassOperations::refusal(config, device, dtype);
}

// Memory that is there throughout counts as kept.
PassMemory KernelPass::memory(const PolicyConfig& config, const PassShape& shape,
                              const PassSettings& settings) {
  constexpr int64_t kBf16 = sizeof(gpu::BFloat16), kFloat = sizeof(float), kIndex = sizeof(int64_t);
  const int64_t rows = rounded(shape.rows);
  const PassActivations::Bytes bytes = PassActivations::bytes(
      PolicyPass::activations(config, rows, rounded(shape.scored), settings.recompute, settings.lora), kBf16);
  const auto attention =
      choose_attention(AttentionShape::of(config, settings.dtype, at::Device(settings.device)))
          ->memory(shape.segments, shape.rows);
  const int64_t state = attention.kept_bytes - shape.rows * config.heads * config.head_dim * kBf16;
  const int64_t states = settings.recompute == Recompute::kFull ? 1 : config.layers;
  PassMemory m;
  m.kept_bytes = bytes.kept + bytes.forward + states * state + attention.plan_bytes +
                 rows * 2 * config.head_dim * kFloat  // cosines and sines
                 + gpu::GpuPassOperations::workspace_bytes(config, rows) +
                 gpu::FusedHead::bytes(config, shape.scored) + (2 * shape.rows + 7 * shape.scored) * kIndex +
                 2 * shape.scored * config.hidden_size * kBf16 +  // hidden rows, and their gradient
                 shape.named_ids * (2 * kIndex + kFloat);         // token, id and, of a chunk, logit
  m.layer_bytes = bytes.backward + std::max(attention.backward_bytes, attention.forward_bytes);
  return m;
}

KernelPass::KernelPass(const Transformer& policy, at::Tensor allowed, Recompute recompute)
    : policy_(policy),
      allowed_(std::move(allowed)),
      recompute_(recompute),
      attention_(choose_attention(AttentionShape::of(policy.config(), policy.dtype(), policy.device()))),
      operations_(policy.device()) {
  BICRL_CHECK(allowed_.numel() == policy.config().vocab_size);
}

void KernelPass::make_memory(int64_t rows, int64_t scored) {
  memory_.reset();  // before more is asked for
  memory_.emplace(Memory{PolicyPass(policy_, operations_, rounded(rows), rounded(scored), recompute_),
                         gpu::FusedHead(policy_, allowed_, operations_, scored)});
}

void KernelPass::reserve(const Packs::Extent& largest) {
  make_memory(largest.rows, largest.scored);
  is_reserved_ = true;
}

void KernelPass::release() {
  memory_.reset();
  is_reserved_ = false;
}

class KernelPass::Use {
 public:
  Use(KernelPass& pass, const PackedBatch& batch) : pass_(pass) {
    if (!pass_.is_reserved_) pass_.make_memory(batch.rows(), batch.scored());
  }
  ~Use() {
    if (!pass_.is_reserved_) pass_.memory_.reset();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  KernelPass& pass_;
};

PassInput KernelPass::input_of(const PackedBatch& batch, TrainingAttention& attention) const {
  return {batch.tokens, batch.positions, batch.selected, batch.host_tokens, &attention};
}

at::Tensor KernelPass::head_sum(GradientSink& sink) const {
  if (policy_.has_adapters()) return {};
  const ParameterLayout& layout = policy_.store().layout();
  const int64_t entry = layout.tied_head() ? 0 : layout.head_entry();
  return gradient_sum(layout, entry, 1, sink).view(policy_.head().sizes());
}

gpu::FusedHead::Scores KernelPass::score(const PackedBatch& batch, const at::Tensor& hidden, int64_t begin,
                                         double temperature, bool keeps) {
  const int64_t rows = hidden.size(0);
  return memory_->head.score(hidden, batch.labels.narrow(0, begin, rows), excluded_of(batch, begin, rows),
                             batch.selected.narrow(0, begin, rows), temperature, keeps);
}

at::Tensor KernelPass::log_probs(const PackedBatch& batch, double temperature) {
  const at::NoGradGuard guard;
  require_scorable(batch);
  const Use use(*this, batch);
  const auto attention = attention_->make(batch.segments, batch.rows());
  const at::Tensor hidden = memory_->pass.forward(input_of(batch, *attention), false);
  at::Tensor result = at::empty_like(batch.old_log_probs);
  const int64_t step = memory_->head.rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const int64_t rows = std::min(step, batch.scored() - begin);
    result.narrow(0, begin, rows)
        .copy_(score(batch, hidden.narrow(0, begin, rows), begin, temperature, /*keeps=*/false).log_prob);
  }
  return result;
}

void KernelPass::backward(const PackedBatch& batch, double temperature, const Loss& loss,
                          GradientSink& sink) {
  require_scorable(batch);
  const Use use(*this, batch);
  const auto attention = attention_->make(batch.segments, batch.rows());
  operations_.begin_pass();
  const at::Tensor hidden = memory_->pass.forward(input_of(batch, *attention), true);
  const at::Tensor grad = at::empty_like(hidden), weight_sum = head_sum(sink);
  gpu::FusedHead& head = memory_->head;
  const int64_t step = head.rows_per_chunk();
  for (int64_t begin = 0; begin < batch.scored(); begin += step) {
    const auto part = [&](const at::Tensor& x) {
      return x.narrow(0, begin, std::min(step, batch.scored() - begin));
    };
    const gpu::FusedHead::Scores scores = score(batch, part(hidden), begin, temperature, /*keeps=*/true);
    const ScoredChunk chunk{begin, scores.log_prob.detach().requires_grad_(true), scores.entropy};
    loss(chunk).backward();
    head.gradient(chunk.log_probs.grad(), part(hidden), part(batch.labels), part(grad), weight_sum);
  }
  memory_->pass.backward(grad, sink);
}

ScoredPass::FaultReport KernelPass::take_fault_report() {
  return [faults = operations_.take_faults(), layers = policy_.config().layers] {
    const auto first = faults.first();
    if (!first) return std::string("the products of the gradient");
    return concat("pack ", first->pass, ", row ", first->row, ", ",
                  PolicyPass::stage_name(first->stage, layers));
  };
}

}  // namespace bicrl
