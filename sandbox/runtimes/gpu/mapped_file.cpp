#include "sandbox/runtimes/gpu/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"

namespace bicrl {

MappedFile MappedFile::readable(int fd) {
  struct stat info {};
  if (fstat(fd, &info) != 0) throw InputError(concat("a file cannot be read: ", strerror(errno)));
  return {fd, static_cast<size_t>(info.st_size), PROT_READ};
}

MappedFile MappedFile::writable(int fd, size_t bytes) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0)
    throw InputError(concat("an answer cannot be written: ", strerror(errno)));
  return {fd, bytes, PROT_READ | PROT_WRITE};
}

MappedFile::MappedFile(int fd, size_t bytes, int protection) : size_(bytes) {
  if (bytes == 0) return;
  void* const mapped = mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw InputError(concat("a file cannot be mapped: ", strerror(errno)));
  bytes_ = static_cast<std::byte*>(mapped);
}

MappedFile::~MappedFile() {
  if (bytes_) munmap(bytes_, size_);
}

}  // namespace bicrl
