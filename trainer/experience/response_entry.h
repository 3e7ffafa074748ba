// What is kept of every response of a step: enough to recompute its reward from the verdict in the ledger.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reward/reward_rule.h"
#include "verdict/verdict.h"

namespace bicrl {

struct ResponseEntry {
  int64_t group = 0;  // of the step; all responses to one prompt
  std::string task_id;
  std::string verdict_key;  // in the ledger; empty if no verdict was asked for
  bool truncated = false;
  double reward = 0;
  bool masked = false;
  double advantage = 0;
  // For samples that a person reads; not part of responses.jsonl, which `bicrl rescore` reads.
  std::string text;
  std::vector<RewardTerm> terms;
  std::optional<Verdict> verdict;
};

// Without text, terms and verdict.
nlohmann::json to_json(const ResponseEntry& entry);
ResponseEntry response_entry_from_json(const nlohmann::json& json);  // throws InputError

}  // namespace bicrl
