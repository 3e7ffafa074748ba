// Persistent cache of results that took long to compute: samples, verdicts, and boxes' answers about a task's
// code. Each is kept under a key of all that it depends on. An append-only file of JSON lines, so that a
// pipeline that was killed finds its earlier results again. Not thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/files/line_log.h"
#include "common/files/unique_fd.h"

namespace bicrl::curation {

// Owns the file while it lives: another process that wants it is refused. Values stay on the disk; memory
// holds a key and a place for each.
class Ledger {
 public:
  // Makes the file if need be. A part of a line that a killed process left is cut off. Throws InputError if
  // the file is in use or holds a line that is no entry, Error if it cannot be written.
  explicit Ledger(const std::filesystem::path& file);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // `kind` is a word ("sample", "verdict"); `key` a hash. Of what was kept twice the first value counts.
  std::optional<nlohmann::json> find(std::string_view kind, const std::string& key) const;
  // Handed to the system when this returns. A value that is known already is not written again.
  void keep(std::string_view kind, const std::string& key, const nlohmann::json& value);
  void sync();  // to the disk
  size_t size() const { return places_.size(); }

 private:
  struct Place {
    int64_t begin = 0;
    int64_t bytes = 0;
  };
  int64_t read_places();

  std::filesystem::path path_;
  UniqueFd file_;  // for reading, and locked
  std::unique_ptr<LineLog> log_;
  std::unordered_map<std::string, Place> places_;  // by kind and key
};

}  // namespace bicrl::curation
