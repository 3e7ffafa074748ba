// The fields of an episode, listed once: what is written of it into logs, files and to other ranks. Each
// field says in which of these forms it stands.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "episode/episode.h"

namespace bicrl {

enum class EpisodeForm : unsigned {
  kLog = 1,     // responses.jsonl: enough to recompute the reward from the verdict in the ledger
  kSample = 2,  // samples.jsonl: with text and verdict, for a person
  kText = 4,    // RUN/texts: as samples, with the prompt
  kHeader = 8,  // saved episodes: without the arrays of numbers, which stand beside it
  kRanks = 16,  // to other ranks: whole
};

// The last turn's fields stand beside the episode's. Of kHeader and kRanks each turn has a list of its own,
// under "turns".
nlohmann::json to_json(const Episode& episode, EpisodeForm form);
// Throws InputError naming the field. Of kLog the only turn knows its verdict's key and whether it is
// truncated.
Episode episode_from_json(const nlohmann::json& json, EpisodeForm form);

}  // namespace bicrl
