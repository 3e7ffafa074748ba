// An append-only file of lines whose length can be read and restored. A checkpoint remembers the length of
// metrics.jsonl and its like, so that a resumed run writes over what a killed step left behind. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace bicrl {

class LineLog {
 public:
  // Creates the file if need be and cuts it off after `keep_bytes`; a negative value keeps all complete
  // lines. Throws InputError if the file is shorter, Error if it cannot be written.
  LineLog(const std::filesystem::path& path, int64_t keep_bytes);
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // Appends `line` and a newline: handed to the system when this returns, so that it outlives the process. A
  // line that does not fit on the disk leaves no part of itself behind; throws Error.
  void append(const std::string& line);
  int64_t size_bytes() const { return size_bytes_; }
  void sync();  // to the disk

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  int64_t size_bytes_ = 0;
};

}  // namespace bicrl
