// The server's files that boxes are shown: in memory if the machine has a tmpfs, readable by nobody else,
// removed with the object; what a killed server left behind is removed by the next one.
#pragma once
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/box/process/descriptors.h"

namespace bicrl {

// A file that lives as long as this object. Every uid may read it; only boxes that are shown it can reach it.
class ScratchFile {
 public:
  explicit ScratchFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Thread-safe. Lives longer than its files.
class ScratchFolder {
 public:
  // `parent`: empty means default_parent(). Throws Error.
  explicit ScratchFolder(const std::filesystem::path& parent = {});
  ~ScratchFolder();
  // /dev/shm if it can be written, else the system's temporary folder.
  static std::filesystem::path default_parent();
  // Throws Error with the system's reason (for instance a full disk).
  std::unique_ptr<ScratchFile> write(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  UniqueFd lock_;  // on the folder, as long as it is in use
  std::atomic<uint64_t> next_ = 0;
};

}  // namespace bicrl
