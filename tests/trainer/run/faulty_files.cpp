#include "tests/trainer/run/faulty_files.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <random>
#include <stdexcept>

#include "common/files/files.h"

namespace bicrl::testing {
namespace fs = std::filesystem;

FaultyFiles::FaultyFiles(const fs::path& root) : root_(root), top_(read(root)) {}

std::shared_ptr<FaultyFiles::Node> FaultyFiles::read(const fs::path& path) {
  auto node = std::make_shared<Node>();
  node->is_folder = fs::is_directory(path);
  if (!node->is_folder) {
    node->bytes = node->synced_bytes = read_file(path);
    return node;
  }
  for (const auto& entry : fs::directory_iterator(path))
    node->entries[entry.path().filename().string()] = read(entry.path());
  node->synced_entries = node->entries;
  return node;
}

void FaultyFiles::arm(Fault fault, int64_t at) {
  fault_ = fault;
  at_ = at;
  operations_ = 0;
  struck_ = off_ = full_ = false;
}

bool FaultyFiles::fails() {
  if (off_) {
    errno = EIO;
    return true;
  }
  if (++operations_ != at_ || fault_ == Fault::kNone) return false;
  if (fault_ == Fault::kPowerCut) {
    struck_ = off_ = true;
    throw PowerCut();
  }
  if (fault_ != Fault::kRefused) return false;  // what only writes meet
  struck_ = true;
  errno = EIO;
  return true;
}

std::shared_ptr<FaultyFiles::Node> FaultyFiles::node(const fs::path& path) const {
  std::shared_ptr<Node> found = top_;
  for (const fs::path& name : fs::absolute(path).lexically_normal().lexically_relative(root_)) {
    if (name == ".") continue;
    const auto entry = found->entries.find(name.string());
    if (entry == found->entries.end()) return nullptr;
    found = entry->second;
  }
  return found;
}

std::shared_ptr<FaultyFiles::Node> FaultyFiles::folder_of(const fs::path& path) const {
  auto folder = node(path.parent_path());
  if (!folder) throw std::logic_error(path.string() + " has no folder in the model");
  return folder;
}

void FaultyFiles::apply(Entries& entries, const Change& change) {
  if (!change.gone.empty()) entries.erase(change.gone);
  if (change.node) entries[change.name] = change.node;
}

void FaultyFiles::change(const std::shared_ptr<Node>& folder, const Change& change) {
  apply(folder->entries, change);
  folder->unsynced.push_back(change);
}

int FaultyFiles::create(const fs::path& path) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  const int file = FileOperations::create(path);
  if (file < 0) return file;
  std::shared_ptr<Node> made = node(path);
  if (!made) {
    made = std::make_shared<Node>();
    change(folder_of(path), {"", path.filename().string(), made});
  }
  made->bytes.clear();
  open_[file] = made;
  return file;
}

ssize_t FaultyFiles::write(int file, const char* bytes, size_t count) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  if (full_) {
    errno = ENOSPC;
    return -1;
  }
  if (operations_ == at_ && (fault_ == Fault::kShortWrite || fault_ == Fault::kFullDisk)) {
    struck_ = true;
    full_ = fault_ == Fault::kFullDisk;
    count = std::max<size_t>(1, count / 2);
  }
  const ssize_t taken = FileOperations::write(file, bytes, count);
  if (taken > 0) open_.at(file)->bytes.append(bytes, static_cast<size_t>(taken));
  return taken;
}

int FaultyFiles::sync(int file) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  open_.at(file)->synced_bytes = open_.at(file)->bytes;
  return 0;
}

int FaultyFiles::close(int file) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(file);
  if (found != open_.end()) open_.erase(found);
  FileOperations::close(file);  // in any case, so that no descriptor is left over
  return fails() ? -1 : 0;
}

int FaultyFiles::rename(const fs::path& from, const fs::path& to) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  if (from.parent_path() != to.parent_path()) throw std::logic_error("a rename into another folder");
  const int result = FileOperations::rename(from, to);
  if (result == 0) change(folder_of(from), {from.filename().string(), to.filename().string(), node(from)});
  return result;
}

int FaultyFiles::make_folder(const fs::path& path) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  const int result = FileOperations::make_folder(path);
  if (result < 0) return result;
  auto made = std::make_shared<Node>();
  made->is_folder = true;
  change(folder_of(path), {"", path.filename().string(), made});
  return 0;
}

int FaultyFiles::remove(const fs::path& path) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  const int result = FileOperations::remove(path);
  if (result == 0) change(folder_of(path), {path.filename().string(), "", nullptr});
  return result;
}

int FaultyFiles::sync_path(const fs::path& path) {
  const std::lock_guard lock(mutex_);
  if (fails()) return -1;
  const auto found = node(path);
  if (!found) {
    errno = ENOENT;
    return -1;
  }
  found->synced_bytes = found->bytes;
  found->synced_entries = found->entries;
  found->unsynced.clear();
  return 0;
}

void FaultyFiles::restart_in(const fs::path& folder, Leaves leaves, uint64_t seed) const {
  std::mt19937_64 draw(seed);
  const auto up_to = [&](size_t most) { return std::uniform_int_distribution<size_t>(0, most)(draw); };
  const std::function<void(const Node&, const fs::path&)> write = [&](const Node& node,
                                                                      const fs::path& place) {
    if (!node.is_folder) {
      std::string bytes = leaves == Leaves::kEverything ? node.bytes : node.synced_bytes;
      if (leaves == Leaves::kSome && node.bytes != bytes)
        bytes = node.bytes.substr(0, up_to(node.bytes.size()));
      std::ofstream(place, std::ios::binary) << bytes;
      return;
    }
    fs::create_directory(place);
    Entries entries = node.synced_entries;
    size_t changes = node.unsynced.size();
    if (leaves == Leaves::kNothing) changes = 0;
    if (leaves == Leaves::kSome) changes = up_to(changes);
    for (size_t i = 0; i < changes; ++i) apply(entries, node.unsynced[i]);
    for (const auto& [name, entry] : entries) write(*entry, place / name);
  };
  write(*top_, folder);
}

}  // namespace bicrl::testing
