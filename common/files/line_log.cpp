#include "common/files/line_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/files/file_operations.h"
#include "common/files/files.h"

namespace bicrl {

LineLog::LineLog(const std::filesystem::path& path, int64_t keep_bytes) : path_(path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0)
    throw Error(concat("cannot write ", path.string(), ": ", strerror(errno)));
  if (keep_bytes < 0) {
    const std::string text = read_file(path);
    keep_bytes = static_cast<int64_t>(text.rfind('\n') + 1);  // npos + 1 is 0
  }
  if (status.st_size < keep_bytes)
    throw InputError(concat(path.string(), " has ", status.st_size,
                            " bytes, but the checkpoint was made when it had ", keep_bytes,
                            ": it was shortened since"));
  if (ftruncate(fd_, keep_bytes) != 0 || lseek(fd_, keep_bytes, SEEK_SET) != keep_bytes)
    throw Error(concat("cannot write ", path.string(), ": ", strerror(errno)));
  size_bytes_ = keep_bytes;
  sync_path(std::filesystem::absolute(path).parent_path(), system_files());  // the name of a new file
}

LineLog::~LineLog() {
  if (fd_ >= 0) close(fd_);
}

void LineLog::append(const std::string& line) {
  const std::string bytes = line + "\n";
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(fd_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int code = errno;
      // Should this fail too, the torn line is cut off by the next run.
      if (ftruncate(fd_, size_bytes_) == 0) lseek(fd_, size_bytes_, SEEK_SET);
      throw Error(concat("cannot append to ", path_.string(), ": ", strerror(code)));
    }
    done += static_cast<size_t>(n);
  }
  size_bytes_ += static_cast<int64_t>(bytes.size());
}

void LineLog::sync() {
  if (fsync(fd_) != 0) throw Error(concat("cannot write ", path_.string(), ": ", strerror(errno)));
}

}  // namespace bicrl
