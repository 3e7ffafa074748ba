// File-system operations of writers whose files must outlast a crash. Writers of checkpoints take them as a
// parameter, so that a test can refuse, cut short or cut off each operation. The base class is the system
// itself: without state, thread-safe.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <filesystem>

namespace bicrl {

class FileOperations {
 public:
  virtual ~FileOperations() = default;

  // As the system calls: a negative value and errno say what failed.
  virtual int create(const std::filesystem::path& path);  // for writing, emptied; a descriptor
  virtual ssize_t write(int file, const char* bytes, size_t count);
  virtual int sync(int file);
  virtual int close(int file);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual int make_folder(const std::filesystem::path& path);
  virtual int remove(const std::filesystem::path& path);  // a file or an empty folder
  // A file's bytes, or a folder's entries: only then do names that were made in it outlast a power cut.
  virtual int sync_path(const std::filesystem::path& path);
};

FileOperations& system_files();

// ---- The same with errors: these throw Error with the path and the system's reason.

// With the folders above it; what is there stays.
void make_folders(const std::filesystem::path& path, FileOperations& files);
void rename_path(const std::filesystem::path& from, const std::filesystem::path& to, FileOperations& files);
void sync_path(const std::filesystem::path& path, FileOperations& files);
// The folder and all folders below it, with every name in them (not the files' bytes).
void sync_folders(const std::filesystem::path& path, FileOperations& files);
// With everything in it; false if some of it is left, which is no error.
bool remove_tree(const std::filesystem::path& path, FileOperations& files);

}  // namespace bicrl
