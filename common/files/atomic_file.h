// A file that appears under its name only once it is whole and on the disk. Not thread-safe.
#pragma once
#include <filesystem>
#include <string_view>

#include "common/files/file_operations.h"
#include "common/hash.h"

namespace bicrl {

// Writes a temporary file beside `path`, which goes with the object unless commit() has renamed it. Every
// method throws Error with `path` and the system's reason (for instance a full disk).
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path, FileOperations& files = system_files());
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  // Syncs it and gives it its name, whatever had that before; the name outlasts a power cut when the folder
  // is synced, too. Returns size and hash of what was written, which has not been read again.
  FileHash commit();

 private:
  [[noreturn]] void fail(const char* what, int code) const;

  FileOperations& files_;
  std::filesystem::path path_, temporary_;
  int file_ = -1;
  bool committed_ = false;
  uint64_t bytes_ = 0;
  Hasher hasher_;
};

}  // namespace bicrl
