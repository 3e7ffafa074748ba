// Adapters that are not at their start. To be included before Catch2, as it brings torch.
#pragma once
#include <ATen/ATen.h>

#include <map>
#include <string>

#include "common/rng.h"
#include "policy/transformer.h"

namespace bicrl::testing {

// Adds adapters whose B is drawn as well: N(0, deviation), of `seed` and the name.
inline void add_drawn_adapters(Transformer& policy, const LoraConfig& lora, uint64_t seed,
                               double deviation = 0.2) {
  policy.add_adapters(lora, seed);
  for (const auto& [name, value] : policy.trained().values()) {
    if (!name.ends_with("lora_B.weight")) continue;
    const at::Tensor drawn = at::empty(value.sizes(), at::kFloat);
    fill_normal(mix_key(seed, name), 0, deviation, drawn.mutable_data_ptr<float>(), drawn.numel());
    value.copy_(drawn);
  }
}

// The same policy with its adapters merged into weights of its own.
inline Transformer merged_copy(const Transformer& policy) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, value] : policy.parameters()) tensors[name] = policy.merged(name);
  return Transformer::from_tensors(policy.config(), tensors, policy.device(), policy.dtype());
}

}  // namespace bicrl::testing
