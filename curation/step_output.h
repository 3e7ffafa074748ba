// Output files of a curation step: its records and its audit, each a file of JSON lines. A file appears under
// its name when the step has come to its end. Not thread-safe.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/files/atomic_file.h"

namespace bicrl::curation {

// Lines of a file that is not there before commit(). Removes what an earlier process that was killed left
// beside it.
class LineFile {
 public:
  explicit LineFile(const std::filesystem::path& path);
  void add(const std::string& line);
  FileHash commit();

 private:
  AtomicFile file_;
  std::string buffer_;
};

// Of a record that left: {"id", "step", "reason", "detail"}.
std::string audit_line(const std::string& id, const std::string& step, const std::string& reason,
                       const std::string& detail);

// Whether a pipeline of that directory writes such a file for itself: its state, its records, its data
// card...
bool is_own_file(const std::filesystem::path& file, const std::filesystem::path& directory);

// Removes the unfinished files (NAME.tmp.PID) that processes which are gone left beside `path`.
void remove_unfinished(const std::filesystem::path& path);

}  // namespace bicrl::curation
