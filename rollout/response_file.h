// The file that `bicrl generate` writes: a JSON line for each response, in the order in which they end, and
// in the order in which they were asked for once all are there. Beside it lies FILE.origin.yaml, which says
// what the responses are made of, so that only the same work goes on with them. Into a pipe or a device
// (common/files/named_file.h) the lines go as they end, and nobody goes on with them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/files/line_log.h"
#include "common/files/named_file.h"

namespace bicrl {

// Key of a response within a file.
struct ResponseName {
  std::string id;  // of the prompt
  int64_t sample = 0;
};

struct ResponseOrigin {
  std::string yaml;                    // a mapping: what decides which responses come out
  std::vector<std::string> free_keys;  // which of it may differ; see common/config/config_diff.h
};

// Owns the file while it lives: another process that wants it is refused. A process that is killed leaves
// whole lines and at most a part of one, which the next one cuts off. Not thread-safe.
class ResponseFile {
 public:
  // Goes on with what lies there. `id_key` is the name of ResponseName::id in the lines. Throws InputError if
  // the file has another origin or none, holds what is no response that was asked for, or is in use; Error if
  // it cannot be written.
  ResponseFile(const std::filesystem::path& path, std::string id_key, std::vector<ResponseName> asked,
               const ResponseOrigin& origin);
  ~ResponseFile();
  ResponseFile(const ResponseFile&) = delete;
  ResponseFile& operator=(const ResponseFile&) = delete;

  // By the response's place among those asked for.
  bool has(size_t index) const { return places_.at(index).bytes > 0; }
  size_t count() const { return count_; }

  // Adds a response, with its name before `entry`. Handed to the system when this returns.
  void add(size_t index, const nlohmann::ordered_json& entry);
  // To the disk.
  void sync();
  // Brings the lines into order, atomically. Once all are there, and last of all: nothing is added after it.
  void finish();

 private:
  struct Place {  // of a line in the file
    int64_t begin = 0;
    int64_t bytes = 0;  // with the newline; 0: the response is missing
  };

  void take_lock();
  void adopt(const ResponseOrigin& origin);
  void read_lines();

  std::filesystem::path path_;
  std::string id_key_;
  std::vector<ResponseName> asked_;
  std::vector<Place> places_;  // of asked_
  size_t count_ = 0;
  int lock_ = -1;
  std::unique_ptr<LineLog> log_;
  std::unique_ptr<OutputStream> stream_;  // instead of all that
};

}  // namespace bicrl
