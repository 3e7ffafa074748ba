// The fields of an episode, listed once: what is written of it into logs, files and to other ranks. Each
// field says in which of these forms it stands. Pure functions; thread-safe.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "episode/episode.h"

namespace bicrl {

enum class EpisodeForm : unsigned {
  kLog = 1,     // responses.jsonl: enough to recompute the reward from the verdict in the ledger
  kSample = 2,  // samples.jsonl and texts/: with text and verdict, for a person
  kSaved = 4,   // saved rollouts: what the policy made, but for the arrays of numbers that stand beside it
  kRanks = 8,   // to other ranks: whole
};

// The last turn's fields stand beside the episode's. In kSaved and kRanks each turn has a list of its own,
// under "turns".
nlohmann::json to_json(const Episode& episode, EpisodeForm form);
// Throws InputError naming the field. An episode of kLog or kSample has one turn, of which it knows no more
// than whether it is truncated.
Episode episode_from_json(const nlohmann::json& json, EpisodeForm form);

}  // namespace bicrl
