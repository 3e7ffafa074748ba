// Low-rank adapters of a policy (LoRA): which projections have one, of which rank, and how strong it is.
// A projection x -> x W^T becomes x W^T + scaling (x A^T) B^T with A [rank, in], B [out, rank] and
// scaling = alpha / rank. Source: Hu et al. 2021. Plain values; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/policy_config.h"

namespace bicrl {

struct LoraConfig {
  int64_t rank = 16;
  double alpha = 32;
  std::vector<std::string> targets = projections();  // of every layer, in its order

  // Of a layer, in its order: q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj.
  static const std::vector<std::string>& projections();
  double scaling() const { return alpha / static_cast<double>(rank); }
  bool adapts(const std::string& projection) const;
  int64_t parameter_count(const PolicyConfig& policy) const;  // of all adapters
  // Throws InputError naming the field, the value and what a policy of this shape takes.
  void validate(const PolicyConfig& policy) const;
  bool operator==(const LoraConfig&) const = default;

  // adapter_config.json as the PEFT library names its fields. `base` is the folder of the policy that the
  // adapters belong to; empty: it has none. from_json_text throws InputError naming the field.
  std::string to_json_text(const std::string& base) const;
  static LoraConfig from_json_text(const std::string& json, const std::string& name);
};

}  // namespace bicrl
