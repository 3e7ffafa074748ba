// The adapters of a policy: made, shared, bound to the projections, and added to the weights for export.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <cmath>

#include "common/error.h"
#include "common/rng.h"
#include "policy/transformer.h"

namespace bicrl {
namespace {

// Uniform within +-bound; each value is a pure function of key and index.
at::Tensor draw_uniform(const std::vector<int64_t>& shape, double bound, uint64_t key) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  for (int64_t i = 0; i < values.numel(); ++i)
    out[i] = static_cast<float>(bound * (2 * uniform_at(key, static_cast<uint64_t>(i)) - 1));
  return values;
}

}  // namespace

void Transformer::make_adapters(const LoraConfig& lora) {
  lora_ = lora;
  adapters_ = std::make_unique<ParameterStore>(ParameterLayout::of_adapters(store_->layout(), lora), device(),
                                               dtype());
  bind_adapters();
}

void Transformer::copy_adapters(const Transformer& from) {
  const at::NoGradGuard guard;
  make_adapters(*from.lora_);
  for (size_t i = 0; i < adapters_->values().size(); ++i)
    adapters_->values()[i].second.copy_(from.adapters_->values()[i].second);
}

void Transformer::add_adapters(const LoraConfig& lora, uint64_t seed) {
  BICRL_CHECK(!adapters_, "the policy has adapters");
  lora.validate(config_);
  make_adapters(lora);
  for (size_t i = 0; i < adapters_->values().size(); i += 2) {  // A of each pair
    const ParameterEntry& a = adapters_->layout().entries()[i];
    const double bound = 1 / std::sqrt(static_cast<double>(a.shape[1]));
    adapters_->values()[i].second.copy_(draw_uniform(a.shape, bound, mix_key(seed, a.name)));
  }
}

Transformer Transformer::base() const {
  BICRL_CHECK(adapters_, "only frozen parameters are shared");
  return Transformer(config_, store_);
}

Transformer Transformer::frozen_copy() const {
  Transformer copy = base();
  copy.copy_adapters(*this);
  return copy;
}

at::Tensor Transformer::merged(const std::string& name) const {
  const int64_t index = store_->layout().index_of(name);
  const at::Tensor& weight = parameters()[static_cast<size_t>(index)].second;
  if (!lora_ || !lora_->adapts(store_->layout().entry(index).projection())) return weight;
  const std::string module = name.substr(0, name.rfind('.'));
  const auto a = static_cast<size_t>(adapters_->layout().index_of(module + ".lora_A.weight"));
  const NamedTensors& values = adapters_->values();
  return Projection{weight, values.at(a).second, values.at(a + 1).second, lora_->scaling()}.merged();
}

// Entries of both layouts stand in the order of the layer, and so do the names of projections.
void Transformer::bind_adapters() {
  size_t next = 0;
  const auto take = [&] { return adapters_->values().at(next++).second; };
  for (Layer& l : layers_) {
    const std::array<Projection*, 7> all = {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down};
    for (size_t i = 0; i < all.size(); ++i) {
      if (!lora_->adapts(LoraConfig::projections().at(i))) continue;
      all[i]->lora_a = take();
      all[i]->lora_b = take();
      all[i]->scaling = lora_->scaling();
    }
  }
  BICRL_CHECK(next == adapters_->values().size());
}

bool Transformer::trains_adapters() const {
  return adapters_ && at::GradMode::is_enabled() && adapters_->values().front().second.requires_grad();
}

}  // namespace bicrl
