#include "policy/projection.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace bicrl {

at::Tensor Projection::operator()(const at::Tensor& x) const {
  at::Tensor y = at::linear(x, weight);
  // In place, so that no second [rows, out] is written.
  if (lora_a.defined()) y.addmm_(at::linear(x, lora_a), lora_b.t(), 1, scaling);
  return y;
}

at::Tensor Projection::merged() const {
  if (!lora_a.defined()) return weight;
  const at::NoGradGuard guard;
  const at::ScalarType wide = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  return at::addmm(weight.to(wide), lora_b.to(wide), lora_a.to(wide), 1, scaling).to(weight.scalar_type());
}

}  // namespace bicrl
