// Records that a step keeps until the last one has come: on the disk, with a place for each in memory. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/files/unique_fd.h"
#include "curation/record.h"

namespace bicrl::curation {

// The file has no name, so that a killed process leaves none behind. Errors throw Error with the system's
// reason.
class RecordSpool {
 public:
  // `directory` need not exist before the first record is added.
  explicit RecordSpool(std::filesystem::path directory) : directory_(std::move(directory)) {}
  void add(const Record& record);  // its number is size() before the call
  Record at(size_t number);
  size_t size() const { return begins_.size(); }

 private:
  void open();
  void flush();

  std::filesystem::path directory_;
  UniqueFd file_;
  std::string buffer_;           // not written yet
  int64_t written_ = 0;          // bytes
  std::vector<int64_t> begins_;  // of each record
};

}  // namespace bicrl::curation
