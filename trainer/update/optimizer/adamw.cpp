#include "trainer/update/optimizer/adamw.h"

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

AdamW::AdamW(ParameterStore& store, AdamWSettings settings, PartExtent extent, FusedOptimizer* fused)
    : store_(store), settings_(settings), fused_(fused) {
  for (const auto& [suffix, part] : state_parts(store_)) store_.allocate(part, extent);
  parameters_replaced();
}

AdamW::~AdamW() {
  for (const auto& [suffix, part] : state_parts(store_)) store_.free(part);
}

void AdamW::parameters_replaced() {
  if (!store_.needs_master()) return;
  for (int64_t g = 0; g < store_.layout().group_count(); ++g)
    held(ParameterPart::kMaster, g).copy_(held_values(g));
}

void AdamW::reset() {
  for (const ParameterPart part : {ParameterPart::kFirstMoment, ParameterPart::kSecondMoment})
    for (int64_t g = 0; g < store_.layout().group_count(); ++g) held(part, g).zero_();
  steps_ = 0;
}

void AdamW::step(double learning_rate, const std::function<void(int64_t group)>& group_done) {
  const at::NoGradGuard guard;
  ++steps_;
  const auto count = static_cast<double>(steps_);
  const AdamWNumbers step{.learning_rate = learning_rate,
                          .beta1 = settings_.beta1,
                          .beta2 = settings_.beta2,
                          .eps = settings_.eps,
                          .decay = learning_rate * settings_.weight_decay,
                          .correction1 = 1 - std::pow(settings_.beta1, count),
                          .correction2 = 1 - std::pow(settings_.beta2, count)};
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) {
    fused_ ? step_fused(g, step) : step_group(g, step);
    if (group_done) group_done(g);
  }
}

bool AdamW::is_whole() const { return store_.extent(ParameterPart::kFirstMoment) == PartExtent::kWhole; }
ShardOf AdamW::held_shard() const { return is_whole() ? ShardOf{} : store_.shard(); }

at::Tensor AdamW::held(ParameterPart part, int64_t group) const {
  return is_whole() ? store_.group_part(part, group) : store_.my_part(part, group);
}

at::Tensor AdamW::held_values(int64_t group) const {
  return is_whole() ? store_.group_values(group) : store_.my_values(group);
}

void AdamW::step_group(int64_t group, const AdamWNumbers& step) {
  const at::Tensor policy = held_values(group);
  const at::Tensor master = store_.needs_master() ? held(ParameterPart::kMaster, group) : policy;
  const at::Tensor gradient = held(ParameterPart::kGradient, group),
                   firsts = held(ParameterPart::kFirstMoment, group),
                   seconds = held(ParameterPart::kSecondMoment, group);
  for (const ParameterPiece& piece : store_.layout().pieces(group, held_shard())) {
    const bool decays = settings_.weight_decay > 0 && store_.layout().entry(piece.entry).is_matrix();
    for (int64_t begin = 0; begin < piece.size; begin += kSliceValues) {
      const int64_t from = piece.in_shard + begin, count = std::min(kSliceValues, piece.size - begin);
      const at::Tensor values = master.narrow(0, from, count), g = gradient.narrow(0, from, count),
                       first = firsts.narrow(0, from, count), second = seconds.narrow(0, from, count);
      if (decays) values.mul_(1 - step.decay);
      first.lerp_(g, 1 - settings_.beta1);
      second.mul_(settings_.beta2).addcmul_(g, g, 1 - settings_.beta2);
      const at::Tensor denominator = second.sqrt().div_(std::sqrt(step.correction2)).add_(settings_.eps);
      values.addcdiv_(first, denominator, -step.learning_rate / step.correction1);
      if (store_.needs_master()) policy.narrow(0, from, count).copy_(values);
    }
  }
}

void AdamW::step_fused(int64_t group, const AdamWNumbers& step) {
  const at::Tensor policy = held_values(group);
  const AdamWState whole{store_.needs_master() ? policy : at::Tensor(),
                         store_.needs_master() ? held(ParameterPart::kMaster, group) : policy,
                         held(ParameterPart::kGradient, group), held(ParameterPart::kFirstMoment, group),
                         held(ParameterPart::kSecondMoment, group)};
  // What lies between entries is zero, and stays so unless zero is divided by zero.
  if (step.decay == 0 && step.eps > 0) return fused_->step(whole, step);
  for (const ParameterPiece& piece : store_.layout().pieces(group, held_shard())) {
    const auto part = [&](const at::Tensor& x) {
      return x.defined() ? x.narrow(0, piece.in_shard, piece.size) : x;
    };
    AdamWNumbers numbers = step;
    if (!store_.layout().entry(piece.entry).is_matrix()) numbers.decay = 0;
    fused_->step(
        {part(whole.policy), part(whole.master), part(whole.gradient), part(whole.first), part(whole.second)},
        numbers);
  }
}

SavedState AdamW::export_state() const {
  SavedState state;
  const ParameterLayout& layout = store_.layout();
  for (const auto& [suffix, part] : state_parts(store_))
    for (int64_t g = 0; g < layout.group_count(); ++g)
      for (const ParameterPiece& piece : layout.pieces(g, held_shard())) {
        const ParameterEntry& entry = layout.entry(piece.entry);
        const at::Tensor values = held(part, g).narrow(0, piece.in_shard, piece.size);
        state.add(entry.name + suffix, piece.size == entry.size ? values.view(entry.shape) : values,
                  piece.in_entry);
      }
  state.add_counter("step", steps_);
  return state;
}

void AdamW::import_state(const SavedState& state) {
  const ParameterLayout& layout = store_.layout();
  const auto parts = state_parts(store_);
  for (const auto& [suffix, part] : parts) {
    for (const ParameterEntry& entry : layout.entries()) state.check(entry.name + suffix, entry.shape);
    for (int64_t g = 0; g < layout.group_count(); ++g)
      for (const ParameterPiece& piece : layout.pieces(g, held_shard()))
        state.read(layout.entry(piece.entry).name + suffix, piece.in_entry,
                   held(part, g).narrow(0, piece.in_shard, piece.size));
  }
  const int64_t steps = state.counter("step");
  const size_t expected = parts.size() * layout.entries().size() + 1;
  if (state.size() != expected)
    throw InputError(concat("optimizer state has ", state.size(), " tensors, expected ", expected));
  steps_ = steps;
}

}  // namespace bicrl
