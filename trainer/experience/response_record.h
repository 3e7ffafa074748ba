// What is kept of every response of a step: enough to recompute its reward from the verdict in the ledger.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reward/reward_rule.h"
#include "tasks/verdict.h"
#include "trainer/ranks/communicator.h"

namespace bicrl {

struct ResponseRecord {
  int64_t group = 0;  // of the step; all responses to one prompt
  std::string task_id;
  std::string verdict_key;  // in the ledger; empty where no verdict was asked for
  bool truncated = false;
  double reward = 0;
  bool masked = false;
  double advantage = 0;
  // For samples that a person reads; not part of responses.jsonl, which `bicrl rescore` reads.
  std::string text;
  std::vector<RewardTerm> terms;
  std::optional<Verdict> verdict;
};

// Without text and verdict.
nlohmann::json to_json(const ResponseRecord& record);
ResponseRecord response_record_from_json(const nlohmann::json& json);  // throws InputError

// Collective: on rank 0 the responses of all ranks, by group; only its own keep text and verdict. Empty
// elsewhere.
std::vector<ResponseRecord> gather_responses(const std::vector<ResponseRecord>& mine,
                                             Communicator& communicator);

}  // namespace bicrl
