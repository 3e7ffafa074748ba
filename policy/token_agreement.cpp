#include "policy/token_agreement.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "common/error.h"

namespace bicrl {
namespace {

// What the config's side names for one purpose.
struct Named {
  const char* role;   // as tokenizer_config.json has it
  const char* field;  // as config.json and generation_config.json have it
  std::vector<int64_t> ids;
};

// Of generation_config.json: an id, a list of them, or none.
std::vector<int64_t> generation_ids(const PolicyConfig& config, const char* field) {
  const auto settings = nlohmann::json::parse(config.generation_settings);
  const auto found = settings.find(field);
  if (found == settings.end()) return {};
  std::vector<int64_t> ids;
  for (const auto& one : found->is_array() ? *found : nlohmann::json::array({*found}))
    if (one.is_number_integer()) ids.push_back(one.get<int64_t>());
  return ids;
}

std::vector<Named> named_ids(const PolicyConfig& config, bool own_end_tokens) {
  std::vector<Named> named = {{"mask_token", "mask_token_id", {config.mask_token_id}}};
  if (own_end_tokens) named.push_back({"eos_token", "eos_token_id", config.end_token_ids});
  named.push_back({"bos_token", "bos_token_id", generation_ids(config, "bos_token_id")});
  if (config.bos_token_id >= 0) named.back().ids.push_back(config.bos_token_id);
  named.push_back({"pad_token", "pad_token_id", generation_ids(config, "pad_token_id")});
  return named;
}

// What the tokenizer's files name; for a mask that they do not, a token of one of the usual names.
std::string token_for(const std::string& role, const Tokenizer& tokenizer) {
  const std::string named = tokenizer.named_token(role);
  if (!named.empty() || role != "mask_token") return named;
  for (const char* usual : {"<|MASK|>", "<|mask|>", "<MASK>", "<mask>", "[MASK]"})
    if (tokenizer.id_of(usual) >= 0) return usual;
  return "";
}

std::string text_of(int64_t id, const Tokenizer& tokenizer) {
  return tokenizer.has(id) ? concat(id, " ('", tokenizer.decode({id}), "')") : std::to_string(id);
}

}  // namespace

std::string token_disagreement(const PolicyConfig& config, const Tokenizer& tokenizer, bool own_end_tokens) {
  for (const auto& [role, field, ids] : named_ids(config, own_end_tokens)) {
    for (const int64_t id : ids)
      if (!tokenizer.has(id)) return concat(field, " ", id, " is no token of the tokenizer");
    const std::string token = token_for(role, tokenizer);
    if (ids.empty() || token.empty()) continue;
    const int64_t id = tokenizer.id_of(token);
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
    return concat(
        field, " is ", text_of(ids.front(), tokenizer), ", and the tokenizer's ", role, " is '", token,
        id >= 0 ? concat("', id ", id) : "', which has no id",
        role == std::string("eos_token") ? " (policy.end_tokens can name what ends a response)" : "");
  }
  return "";
}

}  // namespace bicrl
