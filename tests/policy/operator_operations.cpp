#include "tests/policy/operator_operations.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include "policy/attention/attention.h"
#include "policy/rms_norm.h"

namespace bicrl::testing {
namespace {

at::Tensor leaf(const at::Tensor& x) { return x.detach().clone().requires_grad_(true); }

std::vector<at::Tensor> gradients(const at::Tensor& of, const at::Tensor& grad,
                                  const std::vector<at::Tensor>& leaves) {
  return torch::autograd::grad({of}, leaves, {grad.contiguous()});
}

void add_to(const at::Tensor& sum, const at::Tensor& more) {
  if (sum.defined()) at::Tensor(sum).add_(more.view(sum.sizes()));
}

// Queries and keys of a fused product, turned: [rows, heads + kv_heads, head_dim].
at::Tensor turned(const PassHeads& h, const at::Tensor& qkv, const at::Tensor& q_norm,
                  const at::Tensor& k_norm) {
  const Rotation rotation{h.cos.unsqueeze(1), h.sin.unsqueeze(1)};
  const auto some = [&](int64_t first, int64_t count, const at::Tensor& norm) {
    const at::Tensor heads =
        qkv.narrow(1, first * h.head_dim, count * h.head_dim).unflatten(1, {count, h.head_dim});
    return rotation.apply(rms_norm(heads.contiguous(), norm, h.eps));
  };
  return at::cat({some(0, h.heads, q_norm), some(h.heads, h.kv_heads, k_norm)}, 1);
}

at::Tensor gated(const at::Tensor& gate_up) {
  const int64_t width = gate_up.size(1) / 2;
  return at::silu(gate_up.narrow(1, 0, width)) * gate_up.narrow(1, width, width);
}

}  // namespace

void OperatorOperations::multiply(const PassProduct& p) {
  const at::ScalarType wide = p.out.scalar_type();
  const at::Tensor a = (p.a_transposed ? p.a.t() : p.a).to(wide),
                   b = (p.b_transposed ? p.b.t() : p.b).to(wide);
  at::Tensor product = at::mm(a, b) * p.alpha;
  if (p.addend.defined()) product = product + p.addend;
  p.out.copy_(product);
}

void OperatorOperations::norm(const PassNorm& norm, const at::Tensor& out) {
  out.copy_(rms_norm(norm.x, norm.weight, norm.eps));
}

void OperatorOperations::norm_backward(const PassNorm& norm, const at::Tensor& grad,
                                       const at::Tensor& residual, const at::Tensor& out,
                                       const at::Tensor& weight_sum) {
  at::AutoGradMode graph(true);
  const at::Tensor x = leaf(norm.x), weight = leaf(norm.weight);
  const auto found = gradients(rms_norm(x, weight, norm.eps), grad, {x, weight});
  at::AutoGradMode none(false);
  out.copy_(residual.defined() ? found[0] + residual : found[0]);
  add_to(weight_sum, found[1]);
}

void OperatorOperations::rotation(const at::Tensor& positions, const at::Tensor& inverse_frequency,
                                  const at::Tensor& cos, const at::Tensor& sin) {
  const at::Tensor angles = positions.to(at::kFloat).unsqueeze(1) * inverse_frequency;
  cos.copy_(at::cat({angles.cos(), angles.cos()}, 1));
  sin.copy_(at::cat({angles.sin().neg(), angles.sin()}, 1));
}

void OperatorOperations::rotate(const PassHeads& heads, const at::Tensor& out) {
  out.copy_(turned(heads, heads.qkv, heads.q_norm, heads.k_norm));
}

void OperatorOperations::rotate_backward(const PassHeads& h, const at::Tensor& grad, const at::Tensor& q_sum,
                                         const at::Tensor& k_sum) {
  at::AutoGradMode graph(true);
  const int64_t width = (h.heads + h.kv_heads) * h.head_dim;
  const at::Tensor qkv = leaf(h.qkv), q_norm = leaf(h.q_norm), k_norm = leaf(h.k_norm);
  const at::Tensor all = turned(h, qkv, q_norm, k_norm);
  const auto found = gradients(all, grad.narrow(1, 0, width).unflatten(1, {h.heads + h.kv_heads, h.head_dim}),
                               {qkv, q_norm, k_norm});
  at::AutoGradMode none(false);
  grad.narrow(1, 0, width).copy_(found[0].narrow(1, 0, width));
  add_to(q_sum, found[1]);
  add_to(k_sum, found[2]);
}

void OperatorOperations::gate(const at::Tensor& gate_up, const at::Tensor& out) { out.copy_(gated(gate_up)); }

void OperatorOperations::gate_backward(const at::Tensor& grad, const at::Tensor& gate_up,
                                       const at::Tensor& out) {
  at::AutoGradMode graph(true);
  const at::Tensor both = leaf(gate_up), result = gated(both);
  const auto found = gradients(result, grad, {both});
  at::AutoGradMode none(false);
  if (out.defined()) out.copy_(result);
  gate_up.copy_(found[0]);
}

void OperatorOperations::gather(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) {
  out.copy_(from.index_select(0, rows));
}

void OperatorOperations::scatter(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) {
  at::Tensor(out).zero_().index_copy_(0, rows, from);
}

void OperatorOperations::embed_backward(const at::Tensor& grad, std::span<const int64_t> tokens,
                                        const at::Tensor& sum) {
  const at::Tensor rows = at::tensor(std::vector<int64_t>(tokens.begin(), tokens.end()), at::kLong);
  at::Tensor(sum).index_add_(0, rows.to(grad.device()), grad.to(sum.scalar_type()));
}

}  // namespace bicrl::testing
