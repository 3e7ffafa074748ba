// Verdicts that are known already, and where new ones are kept: the ledger of a run. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "episode/episode.h"

namespace bicrl {

// A turn that was left without a verdict when it was decided what an update is made of.
struct MaskedTurn {
  EpisodeKey episode;
  int64_t turn = 0;
  std::string verdict_key;  // of the verdict that did not come
  bool straggled = false;   // the run gave it up; else the verifiers could not give one
  Verdict verdict;          // its outcome is kInfrastructure; says why
};

class VerdictStore {
 public:
  virtual ~VerdictStore() = default;
  // By which a program's verdict is found.
  virtual std::string key_of(const Task& task, const std::string& program) const = 0;
  // Null if nothing is known of the program.
  virtual std::optional<Verdict> find(const std::string& key) = 0;
  // Infrastructure outcomes are not kept: they say nothing of the program.
  virtual void keep(const std::string& key, const Verdict& verdict) = 0;
  // Null unless that turn was left without a verdict before. The key shows whether it still is the same
  // answer: after a change of the configuration another program may stand in its place.
  virtual const MaskedTurn* masked(const EpisodeKey& episode, int64_t turn, const std::string& key) const = 0;
};

}  // namespace bicrl
