// The bytes of a memory file where both sides see them: what a window copies to and from the device again and
// again is copied once. Move-only; unmapped on destruction. Not thread-safe.
#pragma once
#include <cstddef>
#include <string_view>
#include <utility>

namespace bicrl {

class MappedFile {
 public:
  // All of the file. Throws InputError with the system's reason.
  static MappedFile readable(int fd);
  // So many bytes of a file, which has as many from now on.
  static MappedFile writable(int fd, size_t bytes);
  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::byte* bytes() const { return bytes_; }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

 private:
  MappedFile(int fd, size_t bytes, int protection);
  std::byte* bytes_ = nullptr;
  size_t size_ = 0;
};

}  // namespace bicrl
