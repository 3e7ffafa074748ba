#include "policy/pass/recompute.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

namespace bicrl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct RecomputedPart : torch::CustomClassHolder {
  explicit RecomputedPart(std::function<at::Tensor(const at::Tensor&)> run) : run(std::move(run)) {}
  std::function<at::Tensor(const at::Tensor&)> run;
};

struct Recomputed : torch::autograd::Function<Recomputed> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            c10::intrusive_ptr<RecomputedPart> part) {
    context->save_for_backward({x});
    at::Tensor y = part->run(x);
    context->saved_data["part"] = c10::IValue::make_capsule(std::move(part));
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::AutoGradMode graph(true);
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_(true);
    const auto part = context->saved_data["part"].toCapsule();
    const at::Tensor y = static_cast<RecomputedPart*>(part.get())->run(x);
    // Parameters take their gradients within, each as soon as it is there.
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), {}};
  }
};

}  // namespace

at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& part, const at::Tensor& x) {
  if (!at::GradMode::is_enabled() || !x.requires_grad()) return part(x);
  return Recomputed::apply(x, c10::make_intrusive<RecomputedPart>(part));
}

}  // namespace bicrl
