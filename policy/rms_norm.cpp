#include "policy/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "policy/kernels.h"
#include "policy/row_loops.h"

namespace bicrl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Elements that make a thread worth its start.
constexpr int64_t kGrainElements = 1 << 15;

int64_t grain_rows(int64_t n) { return std::max<int64_t>(1, kGrainElements / n); }

// inverse_rms may be null.
void normalize_rows(const float* x, const float* weight, float* out, float* inverse_rms, int64_t rows,
                    int64_t n, double eps) {
  at::parallel_for(0, rows, grain_rows(n), [&](int64_t begin, int64_t end) {
    kernels::norm_rows_cpu({.rows = end - begin,
                            .width = n,
                            .x = x + begin * n,
                            .weight = weight,
                            .eps = eps,
                            .out = out + begin * n,
                            .inverse_rms = inverse_rms ? inverse_rms + begin : nullptr});
  });
}

// With y = s x w and g = dL/dy: dL/dx = s (g w - x s^2 mean(g w x)).
void input_gradient(const float* x, const float* weight, const float* grad, const float* inverse_rms,
                    float* out, int64_t rows, int64_t n) {
  at::parallel_for(0, rows, grain_rows(n), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* __restrict row = x + r * n;
      const float* __restrict g = grad + r * n;
      const float* __restrict w = weight;
      float* __restrict to = out + r * n;
      const float scale = inverse_rms[r];
      const float dot = sum_over(n, [&](int64_t i) { return g[i] * w[i] * row[i]; });
      const float shrink = scale * scale * dot / static_cast<float>(n);
      for_each_element(n, [=](int64_t i) { to[i] = scale * (g[i] * w[i] - row[i] * shrink); });
    }
  });
}

// dL/dw = sum over rows of g s x. In one thread and in order, so that it does not depend on the thread count.
void weight_gradient(const float* x, const float* grad, const float* inverse_rms, float* out, int64_t rows,
                     int64_t n) {
  float* __restrict sum = out;
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict row = x + r * n;
    const float* __restrict g = grad + r * n;
    const float scale = inverse_rms[r];
    for_each_element(n, [=](int64_t i) { sum[i] += g[i] * row[i] * scale; });
  }
}

at::Tensor forward_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& inverse_rms,
                        double eps) {
  at::Tensor out = at::empty_like(x);
  const int64_t n = x.size(-1);
  normalize_rows(x.const_data_ptr<float>(), weight.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                 inverse_rms.defined() ? inverse_rms.mutable_data_ptr<float>() : nullptr, x.numel() / n, n,
                 eps);
  return out;
}

struct FusedRmsNorm : torch::autograd::Function<FusedRmsNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            double eps) {
    const at::Tensor inverse_rms = at::empty({x.numel() / x.size(-1)}, x.options());
    context->save_for_backward({x, weight, inverse_rms});
    return forward_rows(x, weight, inverse_rms, eps);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &inverse_rms = saved[2];
    const at::Tensor grad = gradients[0].contiguous();
    const int64_t n = x.size(-1), rows = x.numel() / n;
    at::Tensor grad_x, grad_weight;
    if (context->needs_input_grad(0)) {
      grad_x = at::empty_like(x);
      input_gradient(x.const_data_ptr<float>(), weight.const_data_ptr<float>(), grad.const_data_ptr<float>(),
                     inverse_rms.const_data_ptr<float>(), grad_x.mutable_data_ptr<float>(), rows, n);
    }
    if (context->needs_input_grad(1)) {
      grad_weight = at::zeros({n}, x.options());
      weight_gradient(x.const_data_ptr<float>(), grad.const_data_ptr<float>(),
                      inverse_rms.const_data_ptr<float>(), grad_weight.mutable_data_ptr<float>(), rows, n);
    }
    return {grad_x, grad_weight, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const bool ours = x.device().is_cpu() && x.scalar_type() == at::kFloat &&
                    weight.scalar_type() == at::kFloat && x.numel() > 0 && weight.is_contiguous();
  if (!ours) return at::rms_norm(x, {x.size(-1)}, weight, eps);
  const at::Tensor rows = x.contiguous();
  const bool differentiable = at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
  return differentiable ? FusedRmsNorm::apply(rows, weight, eps) : forward_rows(rows, weight, {}, eps);
}

}  // namespace bicrl
