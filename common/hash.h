// Content hashes (XXH3, 128 bit) for caches and checksums. Not cryptographic.
#pragma once
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace bicrl {

// 32 lower-case hexadecimal digits.
std::string hash_hex(std::string_view bytes);

// The same of bytes that come piece by piece: hash_hex of all of them in a row. Not thread-safe.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  void update(std::string_view bytes);
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// hash_hex of a file's bytes, in memory that does not depend on its size. Throws InputError with the path and
// the system's reason.
struct FileHash {
  uint64_t bytes = 0;
  std::string hex;
};
FileHash hash_file(const std::filesystem::path& path);

// Hash of several parts; the boundaries between the parts count.
std::string hash_hex(std::initializer_list<std::string_view> parts);

}  // namespace bicrl
