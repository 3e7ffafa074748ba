#include "policy/embedding.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace bicrl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct WideSumEmbedding : torch::autograd::Function<WideSumEmbedding> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& tokens) {
    context->save_for_backward({tokens});
    context->saved_data["vocab"] = weight.size(0);
    return at::embedding(weight, tokens);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor rows = gradients[0].to(at::kFloat);
    at::Tensor sum = at::zeros({context->saved_data["vocab"].toInt(), rows.size(1)}, rows.options());
    sum.index_add_(0, context->get_saved_variables()[0], rows);
    return {sum, {}};  // rounded once, to the type that the weight's .grad has
  }
};

}  // namespace

at::Tensor embed(const at::Tensor& weight, const at::Tensor& tokens) {
  const bool low_precision = weight.scalar_type() != at::kFloat && weight.scalar_type() != at::kDouble;
  // GPUs sum in fp32 by themselves, and in an order that does not change.
  const bool ours = weight.is_cpu() && low_precision && at::GradMode::is_enabled() && weight.requires_grad();
  return ours ? WideSumEmbedding::apply(weight, tokens) : at::embedding(weight, tokens);
}

}  // namespace bicrl
