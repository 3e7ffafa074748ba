#include "policy/attention/attention.h"

#include <ATen/ATen.h>

#include "policy/rms_norm.h"

namespace bicrl {

at::Tensor Rotation::apply(const at::Tensor& x) const {
  const at::Tensor wide = x.to(at::kFloat);
  return at::addcmul(wide * cos, at::roll(wide, wide.size(-1) / 2, -1), sin).to(x.scalar_type());
}

at::Tensor AttentionContext::attend_projected(int64_t layer, const ProjectedHeads& heads) {
  const auto prepare = [&](const at::Tensor& x, const at::Tensor& norm) {
    return heads.rotation.apply(rms_norm(x, norm, heads.eps));
  };
  return attend(layer, prepare(heads.q, heads.q_norm), prepare(heads.k, heads.k_norm), heads.v);
}

}  // namespace bicrl
