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

// The parts of the state with the suffixes of their names in checkpoints.
std::vector<std::pair<std::string, ParameterPart>> state_parts(const ParameterStore& store) {
  std::vector<std::pair<std::string, ParameterPart>> parts{{".exp_avg", ParameterPart::kFirstMoment},
                                                           {".exp_avg_sq", ParameterPart::kSecondMoment}};
  if (store.needs_master()) parts.emplace_back(".master", ParameterPart::kMaster);
  return parts;
}

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

AdamW::AdamW(ParameterStore& store, AdamWSettings settings, PartExtent extent)
    : store_(store), settings_(settings) {
  for (const auto& [suffix, part] : state_parts(store_)) store_.allocate(part, extent);
  parameters_replaced();
}

AdamW::~AdamW() {
  for (const auto& [suffix, part] : state_parts(store_)) store_.free(part);
}

void AdamW::parameters_replaced() {
  if (!store_.needs_master()) return;
  const bool whole = store_.extent(ParameterPart::kMaster) == PartExtent::kWhole;
  for (int64_t g = 0; g < store_.layout().group_count(); ++g)
    store_.group_part(ParameterPart::kMaster, g).copy_(whole ? store_.group_values(g) : store_.my_values(g));
}

void AdamW::reset() {
  for (const ParameterPart part : {ParameterPart::kFirstMoment, ParameterPart::kSecondMoment})
    for (int64_t g = 0; g < store_.layout().group_count(); ++g) store_.group_part(part, g).zero_();
  steps_ = 0;
}

struct AdamW::Step {
  double learning_rate, correction1, correction2;
};

void AdamW::step(double learning_rate) {
  const at::NoGradGuard guard;
  ++steps_;
  const auto count = static_cast<double>(steps_);
  const Step step{learning_rate, 1 - std::pow(settings_.beta1, count), 1 - std::pow(settings_.beta2, count)};
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) step_group(g, step);
}

void AdamW::step_group(int64_t group, const Step& step) {
  const bool whole = store_.extent(ParameterPart::kFirstMoment) == PartExtent::kWhole;
  const auto held = [&](ParameterPart part) {
    return whole ? store_.group_part(part, group) : store_.my_part(part, group);
  };
  const at::Tensor policy = whole ? store_.group_values(group) : store_.my_values(group);
  const at::Tensor master = store_.needs_master() ? held(ParameterPart::kMaster) : policy;
  const at::Tensor gradient = held(ParameterPart::kGradient), firsts = held(ParameterPart::kFirstMoment),
                   seconds = held(ParameterPart::kSecondMoment);
  for (const ParameterPiece& piece : store_.layout().pieces(group, whole ? ShardOf{} : store_.shard())) {
    const bool decays = settings_.weight_decay > 0 && store_.layout().entry(piece.entry).is_matrix();
    for (int64_t begin = 0; begin < piece.size; begin += kSliceValues) {
      const int64_t from = piece.in_shard + begin, count = std::min(kSliceValues, piece.size - begin);
      const at::Tensor values = master.narrow(0, from, count), g = gradient.narrow(0, from, count),
                       first = firsts.narrow(0, from, count), second = seconds.narrow(0, from, count);
      if (decays) values.mul_(1 - step.learning_rate * settings_.weight_decay);
      first.lerp_(g, 1 - settings_.beta1);
      second.mul_(settings_.beta2).addcmul_(g, g, 1 - settings_.beta2);
      const at::Tensor denominator = second.sqrt().div_(std::sqrt(step.correction2)).add_(settings_.eps);
      values.addcdiv_(first, denominator, -step.learning_rate / step.correction1);
      if (store_.needs_master()) policy.narrow(0, from, count).copy_(values);
    }
  }
}

std::map<std::string, at::Tensor> AdamW::export_state() const {
  std::map<std::string, at::Tensor> state;
  for (const auto& [suffix, part] : state_parts(store_))
    for (size_t i = 0; i < store_.values().size(); ++i)
      state[store_.values()[i].first + suffix] = store_.entry_part(part, static_cast<int64_t>(i));
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
  for (const auto& [suffix, part] : state_parts(store_)) {
    for (size_t i = 0; i < store_.values().size(); ++i) {
      const auto& [name, value] = store_.values()[i];
      const at::Tensor& saved = find(name + suffix);
      if (saved.sizes() != value.sizes())
        throw InputError(concat("optimizer state ", name, suffix, " has shape ", saved.sizes(),
                                ", the policy ", value.sizes()));
      store_.entry_part(part, static_cast<int64_t>(i)).copy_(saved);
      ++expected;
    }
  }
  const at::Tensor& step = find("step");
  if (step.numel() != 1) throw InputError(concat("optimizer state step has ", step.numel(), " values"));
  if (state.size() != expected)
    throw InputError(concat("optimizer state has ", state.size(), " tensors, expected ", expected));
  steps_ = step.item<int64_t>();
}

}  // namespace bicrl
