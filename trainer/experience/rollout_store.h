// Saved rollouts of a run: FOLDER/PHASE-000001/rank-N.safetensors, a file for each rank of a step, written
// atomically. Token ids, step map and log-probabilities are kept as they were, so that an update from them
// equals the update of the step itself. Not thread-safe; each rank writes its own files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "episode/episode.h"

namespace bicrl {

class RolloutStore {
 public:
  explicit RolloutStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  // Of what the policy made of the episodes. Replaces what `rank` saved of that step before. `ranks` is the
  // number of files that make the step.
  void write(const std::string& phase, int64_t step, int rank, int ranks,
             const std::vector<Episode>& episodes) const;
  bool has(const std::string& phase, int64_t step) const;
  // Of which there is a folder, whole or not.
  std::set<int64_t> steps(const std::string& phase) const;
  // Of all ranks, by group and sample, without verdicts and rewards. Throws InputError if the step was not
  // saved whole or a file is damaged.
  std::vector<Episode> read(const std::string& phase, int64_t step) const;
  // Likewise, of another run. Throws InputError if they do not suit a step of this one.
  struct Expected {
    int64_t vocabulary = 0;      // of the policy
    int64_t tasks_per_step = 0;  // number of groups
    int64_t most_groups = 0;     // curation.refill.at_most; 0: as many as tasks_per_step
  };
  std::vector<Episode> read(const std::string& phase, int64_t step, const Expected& expected) const;
  // Says of a step, for good, that a person is to look at it: whoever removes what is not needed any more
  // asks is_kept(), also in a run that goes on. On any number of ranks. Throws Error if that cannot be
  // written.
  void keep(const std::string& phase, int64_t step) const;
  bool is_kept(const std::string& phase, int64_t step) const;
  // The files of all ranks; nobody may write to the step meanwhile.
  void remove(const std::string& phase, int64_t step) const;

 private:
  std::filesystem::path step_folder(const std::string& phase, int64_t step) const;
  std::filesystem::path keep_file(const std::string& phase, int64_t step) const;

  std::filesystem::path folder_;
};

}  // namespace bicrl
