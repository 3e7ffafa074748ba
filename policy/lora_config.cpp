#include "policy/lora_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "policy/parameters/parameter_layout.h"

namespace bicrl {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

const std::vector<std::string>& LoraConfig::projections() {
  static const std::vector<std::string> names = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                 "gate_proj", "up_proj", "down_proj"};
  return names;
}

bool LoraConfig::adapts(const std::string& projection) const {
  return std::find(targets.begin(), targets.end(), projection) != targets.end();
}

int64_t LoraConfig::parameter_count(const PolicyConfig& policy) const {
  return ParameterLayout::of_adapters(ParameterLayout(policy), *this).parameter_count();
}

void LoraConfig::validate(const PolicyConfig& policy) const {
  if (rank < 1) throw InputError(concat("lora.rank is ", rank, ", an adapter has at least rank 1"));
  if (!(alpha > 0) || !std::isfinite(alpha))
    throw InputError(concat("lora.alpha is ", alpha, ", an adapter has a strength above 0"));
  if (targets.empty()) throw InputError("lora.targets is empty: nothing would be trained");
  for (const std::string& target : targets) {
    if (std::find(projections().begin(), projections().end(), target) == projections().end())
      throw InputError(
          concat("lora.targets: '", target, "' is no projection; there are ", joined(projections())));
    if (std::count(targets.begin(), targets.end(), target) > 1)
      throw InputError(concat("lora.targets: ", target, " appears twice"));
  }
  const ParameterLayout layout(policy);
  for (const ParameterEntry& e : layout.entries())
    if (adapts(e.projection()) && rank > std::min(e.shape[0], e.shape[1]))
      throw InputError(concat("lora.rank is ", rank, ", more than ", e.projection(), " of [", e.shape[0],
                              ", ", e.shape[1], "] can have"));
}

std::string LoraConfig::to_json_text(const std::string& base) const {
  nlohmann::ordered_json json;
  json["peft_type"] = "LORA";
  json["task_type"] = "CAUSAL_LM";
  json["base_model_name_or_path"] = base.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(base);
  json["r"] = rank;
  json["lora_alpha"] = alpha;
  json["target_modules"] = targets;
  json["lora_dropout"] = 0.0;
  json["bias"] = "none";
  json["fan_in_fan_out"] = false;
  json["inference_mode"] = true;
  return json.dump(2) + "\n";
}

LoraConfig LoraConfig::from_json_text(const std::string& text, const std::string& name) {
  try {
    const auto json = nlohmann::json::parse(text);
    LoraConfig config;
    config.rank = json.at("r").get<int64_t>();
    config.alpha = json.at("lora_alpha").get<double>();
    config.targets = json.at("target_modules").get<std::vector<std::string>>();
    return config;
  } catch (const nlohmann::json::exception& error) {
    throw InputError(concat(name, ": ", error.what()));
  }
}

}  // namespace bicrl
