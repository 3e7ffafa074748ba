#include "common/files/file_operations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <vector>

#include "common/error.h"

namespace bicrl {
namespace fs = std::filesystem;

int FileOperations::create(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

ssize_t FileOperations::write(int file, const char* bytes, size_t count) {
  return ::write(file, bytes, count);
}

int FileOperations::sync(int file) { return ::fsync(file); }
int FileOperations::close(int file) { return ::close(file); }

int FileOperations::rename(const fs::path& from, const fs::path& to) {
  return ::rename(from.c_str(), to.c_str());
}

int FileOperations::make_folder(const fs::path& path) { return ::mkdir(path.c_str(), 0777); }
int FileOperations::remove(const fs::path& path) { return ::remove(path.c_str()); }

int FileOperations::sync_path(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  const int result = ::fsync(file);
  const int code = errno;
  ::close(file);
  errno = code;
  return result;
}

FileOperations& system_files() {
  static FileOperations files;
  return files;
}

void make_folders(const fs::path& path, FileOperations& files) {
  std::error_code unknown;
  if (path.empty() || fs::is_directory(path, unknown)) return;
  make_folders(path.parent_path(), files);
  if (files.make_folder(path) < 0 && errno != EEXIST)
    throw Error(concat("cannot create ", path.string(), ": ", strerror(errno)));
}

void rename_path(const fs::path& from, const fs::path& to, FileOperations& files) {
  if (files.rename(from, to) < 0)
    throw Error(concat("cannot rename ", from.string(), " to ", to.string(), ": ", strerror(errno)));
}

void sync_path(const fs::path& path, FileOperations& files) {
  if (files.sync_path(path) < 0) throw Error(concat("cannot write ", path.string(), ": ", strerror(errno)));
}

void sync_folders(const fs::path& path, FileOperations& files) {
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_directory() && !entry.is_symlink()) sync_folders(entry.path(), files);
  sync_path(path, files);
}

bool remove_tree(const fs::path& path, FileOperations& files) {
  std::error_code failure;
  const fs::file_status status = fs::symlink_status(path, failure);
  if (status.type() == fs::file_type::not_found) return true;
  bool removed = true;
  if (fs::is_directory(status)) {
    std::vector<fs::path> inside;  // first, as they go while they are listed
    for (fs::directory_iterator entry(path, failure), end; !failure && entry != end; entry.increment(failure))
      inside.push_back(entry->path());
    for (const fs::path& one : inside) removed &= remove_tree(one, files);
  }
  return files.remove(path) >= 0 && removed;
}

}  // namespace bicrl
