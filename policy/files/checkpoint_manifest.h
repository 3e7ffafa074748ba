// manifest.json of a checkpoint (trainer/run/checkpoints/checkpoint_store.h writes it): size and hash of each
// of its files, by which a damaged one is found. Immutable after reading; thread-safe.
#pragma once
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>

#include "common/hash.h"

namespace bicrl {

inline constexpr const char* kManifestName = "manifest.json";

class CheckpointManifest {
 public:
  // Throws InputError if it is missing, or is none.
  explicit CheckpointManifest(const std::filesystem::path& folder);
  // Nothing if the folder has none.
  static std::optional<CheckpointManifest> of(const std::filesystem::path& folder);

  // Reads the files for whose names `wanted` holds. Throws InputError naming the one that is missing, has
  // another size or other bytes.
  void check(const std::function<bool(const std::string& name)>& wanted) const;
  void check_all() const;

 private:
  std::filesystem::path folder_;
  std::map<std::string, FileHash> files_;
};

// Checks what a policy is loaded from (the files of the folder itself, not those below it) in a thread,
// beside whoever reads the same files: they are read from the disk once. A folder without a manifest passes.
class PolicyFilesCheck {
 public:
  explicit PolicyFilesCheck(const std::filesystem::path& folder);  // throws as CheckpointManifest does
  // Waits for it. Throws InputError as CheckpointManifest::check(), once.
  void finish();

 private:
  std::optional<CheckpointManifest> manifest_;
  std::future<void> job_;  // refers to the manifest
};

}  // namespace bicrl
