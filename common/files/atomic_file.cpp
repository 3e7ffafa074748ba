#include "common/files/atomic_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "common/error.h"

namespace bicrl {
namespace {

// Hashed while they are still in the processor's cache.
constexpr size_t kPieceBytes = size_t{1} << 20;

}  // namespace

AtomicFile::AtomicFile(const std::filesystem::path& path, FileOperations& files)
    : files_(files), path_(path), temporary_(path.string() + ".tmp." + std::to_string(getpid())) {
  file_ = files_.create(temporary_);
  if (file_ < 0) fail("create", errno);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) files_.close(file_);
  if (!committed_) files_.remove(temporary_);
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = files_.write(file_, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", errno);
    hasher_.update(bytes.substr(0, static_cast<size_t>(n)));
    bytes_ += static_cast<uint64_t>(n);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

FileHash AtomicFile::commit() {
  if (files_.sync(file_) < 0) fail("write", errno);
  const int closed = files_.close(file_);
  file_ = -1;
  if (closed < 0) fail("write", errno);
  if (files_.rename(temporary_, path_) < 0) fail("rename onto", errno);
  committed_ = true;
  return {bytes_, hasher_.hex()};
}

void AtomicFile::fail(const char* what, int code) const {
  throw Error(concat("cannot ", what, " ", path_.string(), ": ", strerror(code)));
}

}  // namespace bicrl
