#include "trainer/update/adamw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/error.h"

namespace bicrl {
namespace {

// So many values are worked on at a time, so that temporaries do not grow with the policy.
constexpr int64_t kSliceValues = int64_t{1} << 24;

}  // namespace

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
  if (!parameters_.needs_master()) return;
  if (!master_.defined()) master_ = parameters_.zeros();
  parameters_.gather_into(master_);
}

at::Tensor AdamW::values() const { return master_.defined() ? master_.clone() : parameters_.gather(); }

void AdamW::reset() {
  first_moment_.zero_();
  second_moment_.zero_();
  steps_ = 0;
}

struct AdamW::Step {
  double learning_rate, correction1, correction2;
};

void AdamW::step(const at::Tensor& gradient, double learning_rate) {
  const at::NoGradGuard guard;
  BICRL_CHECK(gradient.numel() == parameters_.size(), "gradient of ", gradient.numel(), " values for ",
              parameters_.size());
  ++steps_;
  const auto count = static_cast<double>(steps_);
  const Step step{learning_rate, 1 - std::pow(settings_.beta1, count), 1 - std::pow(settings_.beta2, count)};
  for (const auto& e : parameters_.entries())
    for (int64_t begin = 0; begin < e.size(); begin += kSliceValues)
      step_slice(e, begin, std::min(kSliceValues, e.size() - begin), gradient, step);
}

void AdamW::step_slice(const FlatParameters::Entry& entry, int64_t begin, int64_t count,
                       const at::Tensor& gradient, const Step& step) {
  const auto part = [&](const at::Tensor& flat) { return flat.narrow(0, entry.offset + begin, count); };
  const at::Tensor parameter = entry.parameter.view({-1}).narrow(0, begin, count);
  const at::Tensor values = master_.defined() ? part(master_) : parameter;
  if (settings_.weight_decay > 0 && entry.is_matrix)
    values.mul_(1 - step.learning_rate * settings_.weight_decay);
  const at::Tensor g = part(gradient), first = part(first_moment_), second = part(second_moment_);
  first.lerp_(g, 1 - settings_.beta1);
  second.mul_(settings_.beta2).addcmul_(g, g, 1 - settings_.beta2);
  const at::Tensor denominator = second.sqrt().div_(std::sqrt(step.correction2)).add_(settings_.eps);
  values.addcdiv_(first, denominator, -step.learning_rate / step.correction1);
  if (master_.defined()) parameter.copy_(values);
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
      state[e.name + suffix] = flat.narrow(0, e.offset, e.size()).view(e.parameter.sizes());
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
  // In slices: on the CPU the sum in fp64 makes a copy of what it sums.
  std::vector<at::Tensor> norms;
  for (int64_t begin = 0; begin < gradient.numel(); begin += kSliceValues) {
    const at::Tensor slice = gradient.narrow(0, begin, std::min(kSliceValues, gradient.numel() - begin));
    norms.push_back(at::linalg_vector_norm(slice, 2, c10::nullopt, false, at::kDouble));
  }
  const double norm = at::linalg_vector_norm(at::stack(norms)).item<double>();
  if (std::isfinite(norm) && max_norm > 0 && norm > max_norm) gradient.mul_(max_norm / (norm + 1e-6));
  return norm;
}

}  // namespace bicrl
