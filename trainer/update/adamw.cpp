#include "trainer/update/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "common/error.h"

namespace bicrl {

AdamWSettings AdamWSettings::from_config(const ConfigSection& section) {
  AdamWSettings s;
  s.beta1 = section.real("beta1", s.beta1, 0, 0.9999999);
  s.beta2 = section.real("beta2", s.beta2, 0, 0.9999999);
  s.eps = section.real("eps", s.eps, 0);
  s.weight_decay = section.real("weight_decay", s.weight_decay, 0);
  s.moments = section.choice("moments", "keep", {"keep", "reset"}) == "reset" ? MomentsAtStart::kReset
                                                                              : MomentsAtStart::kKeep;
  return s;
}

AdamW::AdamW(FlatParameters& parameters, AdamWSettings settings)
    : parameters_(parameters),
      settings_(settings),
      first_moment_(parameters.zeros()),
      second_moment_(parameters.zeros()) {
  parameters_replaced();
}

void AdamW::parameters_replaced() {
  if (parameters_.needs_master()) master_ = parameters_.gather();
}

at::Tensor AdamW::values() const { return master_.defined() ? master_.clone() : parameters_.gather(); }

void AdamW::reset() {
  first_moment_.zero_();
  second_moment_.zero_();
  steps_ = 0;
}

void AdamW::step(const at::Tensor& gradient, double learning_rate) {
  const at::NoGradGuard guard;
  BICRL_CHECK(gradient.numel() == parameters_.size(), "gradient of ", gradient.numel(), " values for ",
              parameters_.size());
  ++steps_;
  at::Tensor values = master_.defined() ? master_ : parameters_.gather();
  if (settings_.weight_decay > 0) {
    for (const auto& e : parameters_.entries()) {
      if (e.is_matrix) values.narrow(0, e.offset, e.size()).mul_(1 - learning_rate * settings_.weight_decay);
    }
  }
  first_moment_.lerp_(gradient, 1 - settings_.beta1);
  second_moment_.mul_(settings_.beta2).addcmul_(gradient, gradient, 1 - settings_.beta2);
  const auto step = static_cast<double>(steps_);
  const double correction1 = 1 - std::pow(settings_.beta1, step);
  const double correction2 = 1 - std::pow(settings_.beta2, step);
  const auto denominator = second_moment_.sqrt().div_(std::sqrt(correction2)).add_(settings_.eps);
  values.addcdiv_(first_moment_, denominator, -learning_rate / correction1);
  parameters_.scatter(values);
}

std::vector<std::pair<std::string, at::Tensor>> AdamW::parts() const {
  std::vector<std::pair<std::string, at::Tensor>> parts{{".exp_avg", first_moment_},
                                                        {".exp_avg_sq", second_moment_}};
  if (master_.defined()) parts.emplace_back(".master", master_);
  return parts;
}

std::map<std::string, at::Tensor> AdamW::export_state() const {
  std::map<std::string, at::Tensor> state;
  for (const auto& [suffix, flat] : parts()) {
    for (const auto& e : parameters_.entries()) {
      state[e.name + suffix] = flat.narrow(0, e.offset, e.size()).view(e.parameter.sizes()).clone();
    }
  }
  state["step"] = at::full({1}, steps_, at::TensorOptions().dtype(at::kLong));
  return state;
}

void AdamW::import_state(const std::map<std::string, at::Tensor>& state) {
  size_t expected = 1;
  const auto find = [&](const std::string& name) -> const at::Tensor& {
    const auto found = state.find(name);
    if (found == state.end()) throw InputError(concat("optimizer state lacks the tensor ", name));
    return found->second;
  };
  for (const auto& [suffix, flat] : parts()) {
    for (const auto& e : parameters_.entries()) {
      const at::Tensor& saved = find(e.name + suffix);
      if (saved.sizes() != e.parameter.sizes()) {
        throw InputError(concat("optimizer state ", e.name, suffix, " has shape ", saved.sizes(),
                                ", the policy ", e.parameter.sizes()));
      }
      flat.narrow(0, e.offset, e.size()).copy_(saved.flatten());
      ++expected;
    }
  }
  const at::Tensor& step = find("step");
  if (step.numel() != 1) throw InputError(concat("optimizer state step has ", step.numel(), " values"));
  if (state.size() != expected)
    throw InputError(concat("optimizer state has ", state.size(), " tensors, expected ", expected));
  steps_ = step.item<int64_t>();
}

double clip_global_norm(at::Tensor& gradient, double max_norm) {
  const double norm = at::linalg_vector_norm(gradient, 2, c10::nullopt, false, at::kDouble).item<double>();
  if (std::isfinite(norm) && max_norm > 0 && norm > max_norm) gradient.mul_(max_norm / (norm + 1e-6));
  return norm;
}

}  // namespace bicrl
