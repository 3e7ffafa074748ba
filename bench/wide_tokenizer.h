// A small tokenizer made as wide as a policy, for benchmarks of policies of random weights.
#pragma once
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "common/files/files.h"
#include "policy/policy_config.h"
#include "policy/tokenizer/tokenizer.h"

namespace bicrl {

// As many ids as the policy has, so that draws go over all of them.
inline Tokenizer tokenizer_for(const PolicyConfig& config, const std::string& folder) {
  auto file = nlohmann::json::parse(read_file(folder + "/tokenizer.json"));
  auto& vocab = file["model"]["vocab"];
  int64_t next = static_cast<int64_t>(vocab.size());
  for (const auto& added : file["added_tokens"]) next = std::max(next, added["id"].get<int64_t>() + 1);
  for (; next < config.mask_token_id; ++next) vocab["id" + std::to_string(next)] = next;
  return Tokenizer::from_files({{"tokenizer.json", file.dump()}}, folder);
}

}  // namespace bicrl
