#include "policy/policy_config.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "policy/files/json_reader.h"

namespace bicrl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndTokens = "eos_token_id";
constexpr size_t kMostCodeBytes = size_t{1} << 20;
// Of SDAR's files.
constexpr const char* kUsualAutoMap =
    R"({"AutoConfig":"configuration_sdar.SDARConfig","AutoModel":"modeling_sdar.SDARModel",)"
    R"("AutoModelForCausalLM":"modeling_sdar.SDARForCausalLM"})";

// What other members of the family have and this architecture does not: running such a checkpoint would give
// wrong numbers without a word.
void refuse_foreign_features(const JsonReader& json) {
  const std::string type = json.text("model_type", "sdar");
  if (type != "sdar" && type != "qwen3")
    json.reject("model_type", "this architecture is \"sdar\" or \"qwen3\"");
  if (json.text("hidden_act", "silu") != "silu") json.reject("hidden_act", "only \"silu\" is supported");
  if (json.boolean("attention_bias", false)) json.reject("attention_bias", "biases are not supported");
  if (json.boolean("mlp_bias", false)) json.reject("mlp_bias", "biases are not supported");
  if (json.real("attention_dropout", 0) != 0) json.reject("attention_dropout", "dropout is not supported");
  // Qwen3 files carry a window size that is switched off beside it.
  const bool window_off = json.has("use_sliding_window") && !json.boolean("use_sliding_window");
  if (json.has("sliding_window") && !window_off)
    json.reject("sliding_window", "a sliding window is not supported");
  if (json.boolean("use_sliding_window", false))
    json.reject("use_sliding_window", "a sliding window is not supported");
  if (json.has("rope_scaling")) {
    const JsonReader scaling = json.object("rope_scaling");
    const std::string kind = scaling.text("rope_type", scaling.text("type", ""));
    if (kind != "default") json.reject("rope_scaling", "rope scaling is not supported");
  }
}

// Newer files keep theta in rope_parameters, with the kind of scaling beside it.
double read_rope_theta(const JsonReader& json) {
  if (!json.has("rope_parameters")) return json.real("rope_theta", PolicyConfig{}.rope_theta);
  const JsonReader rope = json.object("rope_parameters");
  if (rope.text("rope_type", "default") != "default")
    rope.reject("rope_type", "rope scaling is not supported");
  return rope.real("rope_theta");
}

// One id, a list of them, or none.
std::vector<int64_t> read_end_tokens(const JsonReader& json) {
  if (!json.has(kEndTokens)) return {};
  if (!json.at(kEndTokens).is_array()) return {json.integer(kEndTokens)};
  std::vector<int64_t> ids;
  for (const auto& id : json.list(kEndTokens)) {
    if (!id.is_number_integer() || (id.is_number_unsigned() && id.get<uint64_t>() > INT64_MAX))
      json.reject(kEndTokens, "expected an id or a list of ids");
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

void add_end_tokens(const std::vector<int64_t>& ids, std::vector<int64_t>& all) {
  for (int64_t id : ids)
    if (std::find(all.begin(), all.end(), id) == all.end()) all.push_back(id);
}

// "module.Class", or a list of such; "repository--module.Class" is code of a repository.
bool has_code(const nlohmann::json& reference, const std::map<std::string, std::string>& code) {
  if (reference.is_array())
    return std::all_of(reference.begin(), reference.end(),
                       [&](const auto& one) { return one.is_null() || has_code(one, code); });
  if (!reference.is_string()) return false;
  const std::string name = reference.get<std::string>();
  return name.find("--") != std::string::npos || code.contains(name.substr(0, name.rfind('.')) + ".py");
}

std::string entries_with_code(const std::string& auto_map, const std::map<std::string, std::string>& code) {
  auto entries = nlohmann::ordered_json::parse(auto_map);
  for (auto entry = entries.begin(); entry != entries.end();)
    entry = has_code(*entry, code) ? std::next(entry) : entries.erase(entry);
  return entries.empty() ? "" : entries.dump();
}

// As most files write it: a list only if it is one.
nlohmann::json end_tokens_as_json(const std::vector<int64_t>& ids) {
  return ids.size() == 1 ? nlohmann::json(ids.front()) : nlohmann::json(ids);
}

PolicyConfig parse(const std::string& text, const std::string& name) {
  const nlohmann::json document = parse_json(text, name);
  const JsonReader json(document, name);
  refuse_foreign_features(json);
  PolicyConfig config;
  config.vocab_size = json.integer("vocab_size");
  config.hidden_size = json.integer("hidden_size");
  config.layers = json.integer("num_hidden_layers");
  config.heads = json.integer("num_attention_heads");
  config.kv_heads = json.integer("num_key_value_heads");
  config.head_dim = json.integer("head_dim");
  config.intermediate_size = json.integer("intermediate_size");
  config.rms_norm_eps = json.real("rms_norm_eps", config.rms_norm_eps);
  config.rope_theta = read_rope_theta(json);
  config.initializer_range = json.real("initializer_range", config.initializer_range);
  config.max_position = json.integer("max_position_embeddings", config.max_position);
  config.tie_word_embeddings = json.boolean("tie_word_embeddings", false);
  config.block_size = json.integer("block_size", config.block_size);
  config.mask_token_id = json.integer("mask_token_id");
  const auto bos = document.find("bos_token_id");
  if (bos != document.end() && bos->is_number_integer()) config.bos_token_id = bos->get<int64_t>();
  add_end_tokens(read_end_tokens(json), config.end_token_ids);
  if (json.has("auto_map")) {
    if (!json.at("auto_map").is_object()) json.reject("auto_map", "expected an object");
    if (!json.at("auto_map").empty()) config.auto_map = json.at("auto_map").dump();
  }
  return config;
}

template <class T>
void require(bool holds, const char* field, const T& value, const char* rule) {
  if (!holds) throw InputError(concat("policy config: ", field, " must ", rule, ", found ", value));
}

// Sizes far beyond any machine would overflow integers; as doubles they can be refused.
template <class Number>
Number count_parameters(const PolicyConfig& c) {
  const Number hidden = static_cast<Number>(c.hidden_size), head_dim = static_cast<Number>(c.head_dim);
  const Number heads = static_cast<Number>(c.heads), kv_heads = static_cast<Number>(c.kv_heads);
  const Number attention = 2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim;
  const Number norms = 2 * hidden + 2 * head_dim;
  const Number layer = attention + norms + 3 * hidden * static_cast<Number>(c.intermediate_size);
  const Number embeddings = (c.tie_word_embeddings ? 1 : 2) * static_cast<Number>(c.vocab_size) * hidden;
  return embeddings + static_cast<Number>(c.layers) * layer + hidden;
}

}  // namespace

PolicyConfig PolicyConfig::from_file(const fs::path& config_json) {
  PolicyConfig config = from_json_text(read_file(config_json), config_json.string());
  const fs::path generation = config_json.parent_path() / "generation_config.json";
  if (fs::exists(generation)) config.add_generation_config(read_file(generation), generation.string());
  if (!config.auto_map.empty()) config.add_code(config_json.parent_path());
  return config;
}

void PolicyConfig::add_code(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder))
    if (entry.path().extension() == ".py" && entry.is_regular_file())
      code[entry.path().filename()] = read_file(entry.path(), kMostCodeBytes);
  auto_map = entries_with_code(auto_map.empty() ? kUsualAutoMap : auto_map, code);
}

PolicyConfig PolicyConfig::from_json_text(const std::string& json, const std::string& name) {
  const PolicyConfig config = parse(json, name);
  try {
    config.validate();
  } catch (const InputError& error) {
    throw InputError(concat(name, ": ", error.what()));
  }
  return config;
}

void PolicyConfig::add_generation_config(const std::string& text, const std::string& name) {
  nlohmann::json document = parse_json(text, name);
  add_end_tokens(read_end_tokens(JsonReader(document, name)), end_token_ids);
  try {
    validate();
  } catch (const InputError& error) {
    throw InputError(concat(name, ": ", error.what()));
  }
  document.erase(kEndTokens);
  generation_settings = document.dump();
}

std::string PolicyConfig::generation_config_text() const {
  auto json = nlohmann::json::parse(generation_settings);
  if (!end_token_ids.empty()) json[kEndTokens] = end_tokens_as_json(end_token_ids);
  return json.dump(2) + "\n";
}

int64_t PolicyConfig::first_end_token() const {
  if (end_token_ids.empty())
    throw InputError(
        "the policy has no end token: name one in policy.end_tokens, or as eos_token_id in its config.json");
  return end_token_ids.front();
}

std::string PolicyConfig::to_json_text() const {
  nlohmann::ordered_json json = {
      {"architectures", {"SDARForCausalLM"}},
      {"attention_bias", false},
      {"attention_dropout", 0.0},
      {"block_size", block_size},
      {"fuse_cross_entropy", true},
      {"head_dim", head_dim},
      {"hidden_act", "silu"},
      {"hidden_size", hidden_size},
      {"initializer_range", initializer_range},
      {"intermediate_size", intermediate_size},
      {"mask_token_id", mask_token_id},
      {"max_position_embeddings", max_position},
      {"max_window_layers", layers},
      {"model_type", "sdar"},
      {"num_attention_heads", heads},
      {"num_hidden_layers", layers},
      {"num_key_value_heads", kv_heads},
      {"rms_norm_eps", rms_norm_eps},
      {"rope_scaling", nullptr},
      {"rope_theta", rope_theta},
      {"sliding_window", nullptr},
      {"tie_word_embeddings", tie_word_embeddings},
      {"use_cache", false},
      {"use_sliding_window", false},
      {"vocab_size", vocab_size},
  };
  if (!auto_map.empty()) json["auto_map"] = nlohmann::ordered_json::parse(auto_map);
  if (bos_token_id >= 0) json["bos_token_id"] = bos_token_id;
  if (!end_token_ids.empty()) json[kEndTokens] = end_tokens_as_json(end_token_ids);
  return json.dump(2) + "\n";
}

int64_t PolicyConfig::parameter_count() const { return count_parameters<int64_t>(*this); }

void PolicyConfig::validate() const {
  // The bounds keep products of two sizes far from overflow.
  constexpr int64_t kMaxSize = int64_t{1} << 24;
  const std::pair<const char*, int64_t> sizes[] = {{"vocab_size", vocab_size},
                                                   {"hidden_size", hidden_size},
                                                   {"num_hidden_layers", layers},
                                                   {"num_attention_heads", heads},
                                                   {"num_key_value_heads", kv_heads},
                                                   {"head_dim", head_dim},
                                                   {"intermediate_size", intermediate_size},
                                                   {"max_position_embeddings", max_position},
                                                   {"block_size", block_size}};
  for (const auto& [field, value] : sizes)
    require(value > 0 && value <= kMaxSize, field, value, "be between 1 and 2^24");
  constexpr double kMaxParameters = 1e15;
  const auto parameters = count_parameters<double>(*this);
  require(parameters <= kMaxParameters, "the number of parameters", parameters, "be at most 10^15");
  require(heads % kv_heads == 0, "num_attention_heads", heads, "be a multiple of num_key_value_heads");
  require(head_dim % 2 == 0, "head_dim", head_dim, "be even for rotary positions");
  require(std::isfinite(rms_norm_eps) && rms_norm_eps > 0, "rms_norm_eps", rms_norm_eps, "be positive");
  require(std::isfinite(rope_theta) && rope_theta > 0, "rope_theta", rope_theta, "be positive");
  require(std::isfinite(initializer_range) && initializer_range > 0, "initializer_range", initializer_range,
          "be positive");
  require(mask_token_id >= 0 && mask_token_id < vocab_size, "mask_token_id", mask_token_id,
          "be an id below vocab_size");
  for (const int64_t id : end_token_ids) {
    require(id >= 0 && id < vocab_size, kEndTokens, id, "be an id below vocab_size, or absent");
    require(id != mask_token_id, kEndTokens, id, "differ from mask_token_id");
  }
}

}  // namespace bicrl
