#include "policy/attention/training_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "common/error.h"

namespace bicrl {
namespace {

class AttentionFunction : public torch::autograd::Function<AttentionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v, TrainingAttention* attention) {
    at::Tensor out = at::empty(q.sizes(), q.options());
    const at::Tensor state = attention->new_state(q);
    attention->forward(q, k, v, out, state);
    context->save_for_backward({q, k, v, out, state});
    context->saved_data["attention"] = static_cast<int64_t>(reinterpret_cast<intptr_t>(attention));
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    auto* const attention =
        reinterpret_cast<TrainingAttention*>(static_cast<intptr_t>(context->saved_data["attention"].toInt()));
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const auto gradient_of = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
    const at::Tensor grad_q = gradient_of(q), grad_k = gradient_of(k), grad_v = gradient_of(v);
    attention->backward(grads[0].contiguous(), q, k, v, saved[3], saved[4], grad_q, grad_k, grad_v);
    return {grad_q, grad_k, grad_v, at::Tensor()};
  }
};

}  // namespace

AttentionShape AttentionShape::of(const PolicyConfig& config, at::ScalarType dtype, at::Device device) {
  return {config.heads, config.kv_heads, config.head_dim, config.block_size, dtype, device};
}

at::Tensor TrainingAttention::new_state(const at::Tensor& q) const {
  return at::empty({state_elements(q)},
                   q.options().dtype(q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat));
}

at::Tensor TrainingAttention::attend(int64_t, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  BICRL_CHECK(q.size(0) == rows(), "attention over ", q.size(0), " rows, the pack has ", rows());
  return AttentionFunction::apply(q, k, v, this);
}

}  // namespace bicrl
