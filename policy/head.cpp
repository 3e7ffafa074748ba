#include "policy/head.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "common/error.h"

namespace bicrl {
namespace {

// So many values of the weight are widened at a time: 16 MiB.
constexpr int64_t kMaxWidened = int64_t{1} << 22;

bool is_low_precision(const at::Tensor& weight) {
  return weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble;
}

// Whether the device multiplies matrices of this type into sums that stay fp32.
bool has_wide_products(const at::Tensor& weight) {
  return weight.is_cuda() && weight.scalar_type() == at::kBFloat16;
}

// Calls each(begin, slice) for slices of the weight's rows in fp32.
template <class Each>
void for_each_widened_slice(const at::Tensor& weight, const Each& each) {
  const int64_t step = std::max<int64_t>(kMaxWidened / weight.size(1), 1);
  for (int64_t begin = 0; begin < weight.size(0); begin += step)
    each(begin, weight.narrow(0, begin, std::min(step, weight.size(0) - begin)).to(at::kFloat));
}

at::Tensor widened_logits(const at::Tensor& hidden, const at::Tensor& weight) {
  const at::Tensor wide = hidden.to(at::kFloat);
  at::Tensor logits = at::empty({hidden.size(0), weight.size(0)}, wide.options());
  for_each_widened_slice(weight, [&](int64_t begin, const at::Tensor& slice) {
    logits.narrow(1, begin, slice.size(0)).copy_(at::mm(wide, slice.t()));
  });
  return logits;
}

at::Tensor widened_backward(const at::Tensor& logits_gradient, const at::Tensor& weight) {
  at::Tensor gradient = at::zeros({logits_gradient.size(0), weight.size(1)}, logits_gradient.options());
  for_each_widened_slice(weight, [&](int64_t begin, const at::Tensor& slice) {
    gradient.addmm_(logits_gradient.narrow(1, begin, slice.size(0)), slice);
  });
  return gradient;
}

// Tensor cores take bf16 factors. The logits' gradient goes in as a sum of two of them, which holds twice the
// digits of one.
struct SplitGradient {
  explicit SplitGradient(const at::Tensor& whole)
      : high(whole.to(at::kBFloat16)), low((whole - high).to(at::kBFloat16)) {}
  at::Tensor high, low;

  // Side by side, so that the weight's sum is read and written once.
  void add_to(at::Tensor& sum, const at::Tensor& hidden) const {
    at::addmm_out(sum, sum, at::cat({high, low}).t(), at::cat({hidden, hidden}), at::kFloat);
  }
  at::Tensor backward(const at::Tensor& weight) const {
    at::Tensor gradient = at::mm(high, weight, at::kFloat);
    return at::addmm_out(gradient, gradient, low, weight, at::kFloat);
  }
};

}  // namespace

at::Tensor head_logits(const at::Tensor& hidden, const at::Tensor& weight) {
  if (!is_low_precision(weight)) return at::linear(hidden, weight).to(at::kFloat);
  BICRL_CHECK(!at::GradMode::is_enabled() || !(hidden.requires_grad() || weight.requires_grad()),
              "logits of low precision have no graph");
  return has_wide_products(weight) ? at::mm(hidden, weight.t(), at::kFloat) : widened_logits(hidden, weight);
}

at::Tensor head_backward(const at::Tensor& logits_gradient, const at::Tensor& hidden,
                         const at::Tensor& weight) {
  const at::NoGradGuard guard;
  at::Tensor& sum = weight.mutable_grad();
  if (is_low_precision(weight)) {
    if (!sum.defined()) {
      weight.set_grad_dtype(at::kFloat);
      sum = at::zeros(weight.sizes(), weight.options().dtype(at::kFloat));
    }
    if (has_wide_products(weight)) {
      const SplitGradient split(logits_gradient);
      split.add_to(sum, hidden);
      return split.backward(weight).to(hidden.scalar_type());
    }
    sum.addmm_(logits_gradient.t(), hidden.to(at::kFloat));
    return widened_backward(logits_gradient, weight).to(hidden.scalar_type());
  }
  // As autograd does it.
  const at::Tensor same = logits_gradient.to(weight.scalar_type());
  const at::Tensor gradient = same.t().mm(hidden);
  if (sum.defined())
    sum.add_(gradient);
  else
    sum = gradient;
  return same.mm(weight);
}

at::Tensor frozen_head_backward(const at::Tensor& logits_gradient, const at::Tensor& weight) {
  const at::NoGradGuard guard;
  if (!is_low_precision(weight)) return logits_gradient.to(weight.scalar_type()).mm(weight);
  return (has_wide_products(weight) ? SplitGradient(logits_gradient).backward(weight)
                                    : widened_backward(logits_gradient, weight))
      .to(weight.scalar_type());
}

}  // namespace bicrl
