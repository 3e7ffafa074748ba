// A file system that fails where a test says, and that loses its power: every operation really happens, and a
// model beside it knows what of it is on the disk. Below a root folder; operations may come from
// several threads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/files/file_operations.h"

namespace bicrl::testing {

enum class Fault {
  kNone,
  kShortWrite,  // half of the bytes are taken; the caller has to go on with the others
  kFullDisk,    // half of the bytes are taken, and from then on none: ENOSPC
  kRefused,     // EIO once, whatever the operation
  kPowerCut,    // throws PowerCut; nothing that is asked for afterwards happens
};

struct PowerCut {};

// What a power cut leaves of what was not synced.
enum class Leaves {
  kEverything,  // as if only the process had been killed
  kNothing,
  kNames,  // and no byte behind them
  kSome,   // of each folder the first so many changes, of each file the first so many bytes, by a seed
};

class FaultyFiles : public FileOperations {
 public:
  // What lies below `root` now is on the disk.
  explicit FaultyFiles(const std::filesystem::path& root);

  // The operation with this number, from 1 on, counted anew from here. A full disk refuses what comes after
  // it as well, until it is armed again.
  void arm(Fault fault, int64_t at = 0);
  int64_t operations() const { return operations_; }
  bool struck() const { return struck_; }

  // Makes `folder`, which is not there yet, what a restart would find below the root.
  void restart_in(const std::filesystem::path& folder, Leaves leaves, uint64_t seed = 0) const;

  int create(const std::filesystem::path& path) override;
  ssize_t write(int file, const char* bytes, size_t count) override;
  int sync(int file) override;
  int close(int file) override;
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  int make_folder(const std::filesystem::path& path) override;
  int remove(const std::filesystem::path& path) override;
  int sync_path(const std::filesystem::path& path) override;

 private:
  struct Node;
  using Entries = std::map<std::string, std::shared_ptr<Node>>;
  struct Change {  // of a folder's entries: `gone` goes, `name` is `node`
    std::string gone, name;
    std::shared_ptr<Node> node;
  };
  struct Node {
    bool is_folder = false;
    std::string bytes, synced_bytes;
    Entries entries, synced_entries;
    std::vector<Change> unsynced;
  };
  static void apply(Entries& entries, const Change& change);
  static std::shared_ptr<Node> read(const std::filesystem::path& path);

  bool fails();  // counts an operation; sets errno if it is refused
  std::shared_ptr<Node> node(const std::filesystem::path& path) const;  // null: none
  std::shared_ptr<Node> folder_of(const std::filesystem::path& path) const;
  void change(const std::shared_ptr<Node>& folder, const Change& change);

  std::mutex mutex_;  // of what operations change
  std::filesystem::path root_;
  std::shared_ptr<Node> top_;
  std::map<int, std::shared_ptr<Node>> open_;
  Fault fault_ = Fault::kNone;
  int64_t at_ = 0, operations_ = 0;
  bool struck_ = false, off_ = false, full_ = false;
};

}  // namespace bicrl::testing
