#include "policy/pass/fused_projection.h"

#include <ATen/ATen.h>

#include "common/error.h"

namespace bicrl {

at::Tensor gradient_sum(const ParameterLayout& layout, int64_t first_entry, int64_t entries,
                        GradientSink& sink) {
  const ParameterEntry &first = layout.entry(first_entry), &last = layout.entry(first_entry + entries - 1);
  return sink.sum(first.group).narrow(0, first.offset, last.offset + last.size - first.offset);
}

FusedProjection::FusedProjection(at::Tensor weight, std::vector<const Projection*> parts,
                                 const ParameterLayout& trained, int64_t entry, bool is_frozen)
    : weight_(std::move(weight)),
      trained_(trained),
      entry_(entry),
      entries_(static_cast<int64_t>(parts.size())),
      is_frozen_(is_frozen) {
  int64_t outs = 0, ranks = 0;
  for (const Projection* part : parts) {
    if (part->lora_a.defined()) {
      adapted_.push_back({part, outs, part->weight.size(0), ranks, part->lora_a.size(0), entry});
      ranks += part->lora_a.size(0);
      entry += 2;
    }
    outs += part->weight.size(0);
  }
  BICRL_CHECK(outs == weight_.size(0), "parts of ", outs, " rows in a weight of ", weight_.size(0));
  if (ranks > 0) factors_ = at::empty({ranks, weight_.size(1)}, weight_.options());
}

void FusedProjection::refresh() {
  for (const Adapted& a : adapted_) factors_.narrow(0, a.first_rank, a.rank).copy_(a.projection->lora_a);
}

void FusedProjection::forward(PassOperations& operations, const at::Tensor& x, const at::Tensor& out,
                              const at::Tensor& addend, const at::Tensor& low_rank) const {
  operations.multiply({.a = x, .b = weight_, .b_transposed = true, .addend = addend, .out = out});
  low_rank_forward(operations, x, low_rank);
  for (const Adapted& a : adapted_)
    operations.multiply({.a = a.ranks(low_rank),
                         .b = a.projection->lora_b,
                         .b_transposed = true,
                         .alpha = a.projection->scaling,
                         .addend = a.columns(out),
                         .out = a.columns(out)});
}

void FusedProjection::low_rank_forward(PassOperations& operations, const at::Tensor& x,
                                       const at::Tensor& low_rank) const {
  if (!adapted_.empty()) operations.multiply({.a = x, .b = factors_, .b_transposed = true, .out = low_rank});
}

void FusedProjection::input_gradient(PassOperations& operations, const at::Tensor& grad,
                                     const at::Tensor& out, const at::Tensor& grad_low_rank) const {
  if (out.defined()) operations.multiply({.a = grad, .b = weight_, .out = out});
  for (const Adapted& a : adapted_)
    operations.multiply({.a = a.columns(grad),
                         .b = a.projection->lora_b,
                         .alpha = a.projection->scaling,
                         .out = a.ranks(grad_low_rank)});
  if (out.defined() && !adapted_.empty())
    operations.multiply({.a = grad_low_rank, .b = factors_, .addend = out, .out = out});
}

void FusedProjection::weight_gradient(PassOperations& operations, const at::Tensor& grad, const at::Tensor& x,
                                      const at::Tensor& low_rank, const at::Tensor& grad_low_rank,
                                      GradientSink& sink) const {
  if (!is_frozen_) {
    const at::Tensor sum = gradient_sum(trained_, entry_, entries_, sink).view(weight_.sizes());
    operations.multiply({.a = grad, .a_transposed = true, .b = x, .addend = sum, .out = sum});
  }
  if (adapted_.empty()) return;
  at::Tensor of_factors;  // [sum of ranks, in]
  for (const Adapted& a : adapted_) {
    const at::Tensor b_sum = gradient_sum(trained_, a.entry + 1, 1, sink).view(a.projection->lora_b.sizes()),
                     a_sum = gradient_sum(trained_, a.entry, 1, sink).view(a.projection->lora_a.sizes());
    operations.multiply({.a = a.columns(grad),
                         .a_transposed = true,
                         .b = a.ranks(low_rank),
                         .alpha = a.projection->scaling,
                         .addend = b_sum,
                         .out = b_sum});
    if (!of_factors.defined()) {
      of_factors = at::empty(factors_.sizes(), a_sum.options());
      operations.multiply({.a = grad_low_rank, .a_transposed = true, .b = x, .out = of_factors});
    }
    a_sum.add_(of_factors.narrow(0, a.first_rank, a.rank));
  }
}

}  // namespace bicrl
