#include "rollout/decoding/sampling.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "common/error.h"
#include "policy/distribution.h"
#include "policy/kernels.h"

namespace bicrl {
namespace {

// Probabilities outside the k largest, or outside the smallest set of mass top_p, become 0. Not renormalised.
at::Tensor restrict_to_nucleus(at::Tensor probs, const SamplingSettings& settings) {
  if (settings.top_k > 0 && settings.top_k < probs.size(1)) {
    const at::Tensor kth = std::get<0>(probs.topk(settings.top_k, 1)).narrow(1, settings.top_k - 1, 1);
    probs = probs.masked_fill(probs < kth, 0.0);
  }
  if (settings.top_p < 1.0) {
    const auto [sorted, order] = probs.sort(/*stable=*/true, 1, /*descending=*/true);
    const at::Tensor mass = sorted.cumsum(1, at::kDouble);
    const at::Tensor total = mass.narrow(1, mass.size(1) - 1, 1);
    // Kept while the mass before it has not reached top_p; the first always.
    const at::Tensor kept = (mass - sorted) < total * settings.top_p;
    kept.select(1, 0).fill_(true);
    probs = at::zeros_like(probs).scatter_(1, order, sorted.masked_fill(kept.logical_not(), 0.0));
  }
  return probs;
}

// [N, 1]: the first id whose cumulative weight exceeds uniform * total.
at::Tensor draw_by_inverse_cdf(const at::Tensor& weights, const at::Tensor& uniforms) {
  if (weights.is_cpu() && weights.scalar_type() == at::kFloat) {
    const at::Tensor rows = weights.contiguous();
    at::Tensor tokens = at::empty({rows.size(0), 1}, at::kLong);
    kernels::draw_rows_cpu({.rows = rows.size(0),
                            .vocab = rows.size(1),
                            .weights = rows.const_data_ptr<float>(),
                            .uniforms = uniforms.contiguous().const_data_ptr<double>(),
                            .tokens = tokens.mutable_data_ptr<int64_t>()});
    return tokens;
  }
  const at::Tensor cumulative = weights.cumsum(1, at::kDouble);
  const at::Tensor target = cumulative.narrow(1, cumulative.size(1) - 1, 1) * uniforms.unsqueeze(1);
  const at::Tensor drawn = at::searchsorted(cumulative, target, /*out_int32=*/false, /*right=*/true)
                               .clamp_max(weights.size(1) - 1);
  // A parallel scan may round so that an id without weight is hit.
  return at::where(weights.gather(1, drawn) > 0, drawn, weights.argmax(1, /*keepdim=*/true));
}

}  // namespace

Candidates sample_candidates(const at::Tensor& logits, const at::Tensor& allowed, const at::Tensor& uniforms,
                             const SamplingSettings& settings, bool with_entropy) {
  BICRL_CHECK(logits.dim() == 2 && uniforms.dim() == 1 && logits.size(0) == uniforms.size(0), "logits ",
              logits.sizes(), ", uniforms ", uniforms.sizes());
  const bool greedy = settings.temperature == 0.0;
  const at::Tensor log_probs = policy_log_softmax(logits, allowed, greedy ? 1.0 : settings.temperature);
  const bool restricted = settings.is_restricted();
  at::Tensor weights;  // [N, vocab], what is drawn from
  if (!greedy || settings.reference_confidence) {
    weights = log_probs.exp();
    if (restricted) weights = restrict_to_nucleus(weights, settings);
  }
  const at::Tensor drawn =
      greedy ? log_probs.argmax(1, /*keepdim=*/true) : draw_by_inverse_cdf(weights, uniforms);  // [N, 1]

  Candidates out;
  out.tokens = drawn.squeeze(1);
  out.log_probs = log_probs.gather(1, drawn).squeeze(1);
  out.confidence = settings.reference_confidence ? weights.gather(1, drawn).squeeze(1) / weights.sum(1)
                                                 : out.log_probs.exp();
  // p * log(p) is 0, not NaN, if p is 0.
  if (with_entropy) out.entropy = at::special_entr(log_probs.exp()).sum(1);
  out.all_log_probs = log_probs;
  if (restricted && !greedy) out.kept = weights > 0;
  return out;
}

}  // namespace bicrl
