// State of a run between two steps: with policy and optimizer, all that decides how it goes on. Random draws
// are keyed by seed, phase and step, so there is no generator's state to keep.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/files/file_operations.h"
#include "common/hash.h"
#include "policy/files/safetensors.h"
#include "trainer/evaluation/evaluation.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {

// What `trainer.placement: auto` was decided to be.
struct PlacementDecision {
  int ranks = 0;       // of the run that it was decided for
  int generators = 0;  // 0: colocated
};

struct RunState {
  int64_t phase = 0;            // index of the phase in progress, or of the one that has just ended
  int64_t step = 0;             // steps of it that are done
  int64_t policy_version = 0;   // updates since the start
  int64_t skipped_updates = 0;  // since the start, because a gradient was not finite
  int64_t ledger_round = 0;
  nlohmann::json phase_state;  // of the phase in progress
  nlohmann::json curation;
  std::vector<EvaluationResult> evaluations;
  std::vector<std::pair<std::string, double>> phase_seconds;  // of finished phases
  double seconds_in_phase = 0;
  std::map<std::string, int64_t> log_bytes;      // lengths of the run directory's append-only files
  int ranks = 1;                                 // that train
  std::optional<PlacementDecision> placement{};  // none while it is not decided, or need not be
};

// Where a checkpoint has the adapters of its policy as such; its weights have them merged. Not beside these:
// loaders that know adapters would add them a second time.
std::filesystem::path adapter_folder(const std::filesystem::path& checkpoint);
// Throws InputError if a run that trains adapters is to go on from a checkpoint without, the other way round,
// or if they are of another kind.
void check_adapters_of(const std::filesystem::path& checkpoint, const std::optional<LoraConfig>& lora);

// The parts of a checkpoint folder beside the policy: trainer/state.json, and the updater's state in
// trainer/optimizer.safetensors, or in trainer/optimizer-RRRRR-of-NNNNN.safetensors where each rank has a
// part of it: whole tensors, and flat pieces of tensors whose place the file's metadata hold.
void write_run_state(const std::filesystem::path& checkpoint, const RunState& state,
                     FileOperations& files = system_files());

// A rank's file of the updater's state. Refers to tensors, live ones or copies.
struct UpdaterFile {
  std::string name;  // in the checkpoint
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};
// This rank's with its live tensors, if it has one.
std::optional<UpdaterFile> updater_file(const PolicyUpdater& updater, int rank, int ranks);
FileHash write_updater(const std::filesystem::path& checkpoint, const UpdaterFile& file,
                       FileOperations& files = system_files());
// Throws InputError naming file and field.
RunState read_run_state(const std::filesystem::path& checkpoint);
void restore_updater(const std::filesystem::path& checkpoint, PolicyUpdater& updater);
// Against the checkpoint's manifest, if it has one. Throws InputError naming the file that is damaged.
void check_updater_files(const std::filesystem::path& checkpoint);
// Of another run's checkpoint only the optimizer's moments. Throws InputError if it has none.
void adopt_moments(const std::filesystem::path& checkpoint, PolicyUpdater& updater);

}  // namespace bicrl
