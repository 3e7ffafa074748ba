#include "trainer/update/flat_parameters.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "common/error.h"

namespace bicrl {

FlatParameters::FlatParameters(Transformer& policy) {
  for (const auto& [name, parameter] : policy.parameters()) {
    entries_.push_back({name, parameter, size_, parameter.dim() >= 2});
    size_ += parameter.numel();
  }
  BICRL_CHECK(!entries_.empty());
}

bool FlatParameters::needs_master() const {
  const auto type = entries_.front().parameter.scalar_type();
  return type != at::kFloat && type != at::kDouble;
}

at::Tensor FlatParameters::zeros() const {
  const auto& first = entries_.front().parameter;
  return at::zeros({size_},
                   first.options().dtype(first.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
}

at::Tensor FlatParameters::gather() const {
  at::Tensor flat = zeros();
  gather_into(flat);
  return flat;
}

void FlatParameters::gather_into(at::Tensor& flat) const {
  const at::NoGradGuard guard;
  for (const auto& e : entries_) flat.narrow(0, e.offset, e.size()).copy_(e.parameter.flatten());
}

void FlatParameters::scatter(const at::Tensor& flat) {
  const at::NoGradGuard guard;
  for (auto& e : entries_) e.parameter.copy_(flat.narrow(0, e.offset, e.size()).view(e.parameter.sizes()));
}

void FlatParameters::add_gradients_to(at::Tensor& flat) {
  const at::NoGradGuard guard;
  for (auto& e : entries_) {
    at::Tensor& gradient = e.parameter.mutable_grad();
    if (!gradient.defined()) continue;
    flat.narrow(0, e.offset, e.size()).add_(gradient.flatten());
    gradient.reset();
  }
}

GradientScope::GradientScope(FlatParameters& parameters) : parameters_(parameters) {
  for (const auto& e : parameters_.entries()) e.parameter.set_requires_grad(true);
}

GradientScope::~GradientScope() {
  for (const auto& e : parameters_.entries()) {
    e.parameter.mutable_grad().reset();
    e.parameter.set_requires_grad(false);
  }
}

}  // namespace bicrl
