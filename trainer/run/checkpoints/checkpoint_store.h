// The checkpoints of a run: RUN/checkpoints/NAME/, each complete or absent. A folder is written under another
// name, gets manifest.json (size and hash of every file) last and is renamed; `latest` names the newest one
// and is replaced after that; only then is an older one removed. Each of these steps is on the disk before
// the next begins, so a process that is killed at any moment, and a machine that loses its power, leave the
// checkpoint before or the new one as the latest. Files are read piece by piece, however large they are.
// Used by one rank; not thread-safe.
#pragma once
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/files/file_operations.h"
#include "common/hash.h"

namespace bicrl {

class CheckpointStore {
 public:
  // Removes what killed writers left behind.
  explicit CheckpointStore(const std::filesystem::path& folder, FileOperations& files = system_files());

  // `write` fills the folder it is given. Throws Error with path and reason (for instance a full disk); the
  // checkpoints before are untouched then. A checkpoint of the same name is replaced.
  void save(const std::string& name, const std::function<void(const std::filesystem::path&)>& write);

  // The same in parts, where others fill the folder as well: begin() gives the folder, commit() makes it a
  // checkpoint. `written` are files of others by name in the folder, synced and hashed by whoever wrote them.
  // Without a commit, or if it throws, discard() takes away what is there.
  // Throws Error if the disk has less than `expected_bytes` left.
  std::filesystem::path begin(const std::string& name, uint64_t expected_bytes = 0);
  void commit(const std::string& name, const std::map<std::string, FileHash>& written = {});
  void discard(const std::string& name) noexcept;

  // The newest checkpoint, every file of it checked against the manifest. nullopt if there is none. Throws
  // InputError that names the first broken file and the newest checkpoint that is whole.
  std::optional<std::filesystem::path> latest() const;

  std::vector<std::string> names() const;  // sorted

  // From now on the latest one is the best so far: RUN/checkpoints/best holds its name.
  void mark_best();
  std::string best_name() const;    // empty: none is marked
  std::string newest_name() const;  // unchecked; empty: there is none

  // Removes a checkpoint unless it is the latest or the best one: from its name at once, from the disk in a
  // thread, which begin() and the destructor wait for.
  void remove(const std::string& name);

 private:
  std::string named_by(const char* file) const;
  std::string whole_ones_but(const std::string& broken) const;
  void remove_leftovers() const;
  void point(const char* file, const std::string& name) const;

  std::filesystem::path folder_;
  FileOperations& files_;
  std::future<void> removals_;  // all that were asked for, one behind the other
};

// The newest checkpoint of a run's folder of checkpoints as its file `latest` says, unchecked; empty if that
// says nothing. Reads alone, so that it may be asked beside the run's own store.
std::string newest_checkpoint(const std::filesystem::path& folder);

// Throws InputError naming the file that is missing, has another size or other bytes than manifest.json says.
void check_manifest(const std::filesystem::path& checkpoint);

}  // namespace bicrl
