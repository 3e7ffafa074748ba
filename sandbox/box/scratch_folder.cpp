#include "sandbox/box/scratch_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPrefix = "bicrl-verifier-";

// Whoever uses a folder holds a lock on it: a process in another process namespace that shares the parent (a
// container, say) looks dead from here.
UniqueFd open_folder(const fs::path& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void remove_dead_folders(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) != 0) continue;
    const int pid = atoi(name.c_str() + strlen(kPrefix));
    if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH) continue;
    const UniqueFd folder = open_folder(entry.path());
    if (folder && flock(folder.get(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

ScratchFile::~ScratchFile() { unlink(path_.c_str()); }

fs::path ScratchFolder::default_parent() {
  return access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  const fs::path chosen = parent.empty() ? default_parent() : parent;
  remove_dead_folders(chosen);
  do {  // once more if somebody took it for a dead one's before it was locked
    std::string pattern = (chosen / concat(kPrefix, getpid(), "-XXXXXX")).string();
    if (!mkdtemp(pattern.data()))
      throw Error(concat("cannot create a folder in ", chosen.string(), ": ", strerror(errno)));
    path_ = pattern;
    lock_ = open_folder(path_);
    if (lock_) flock(lock_.get(), LOCK_EX);
  } while (!fs::exists(path_));
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::unique_ptr<ScratchFile> ScratchFolder::write(std::string_view bytes) {
  auto file = std::make_unique<ScratchFile>(path_ / std::to_string(next_++));
  const UniqueFd fd(open(file->path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!fd) throw Error(concat("cannot create ", file->path().string(), ": ", strerror(errno)));
  fchmod(fd.get(), 0444);  // whatever the umask
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error(concat("cannot write ", file->path().string(), ": ", strerror(errno)));
    done += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace bicrl
