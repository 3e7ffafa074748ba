#include "common/hash.h"

#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <vector>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr size_t kReadBytes = size_t{1} << 20;

std::string to_hex(XXH128_hash_t hash) {
  char text[33];
  snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
           static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace

struct Hasher::State {
  State() : stream(XXH3_createState(), XXH3_freeState) {
    if (!stream) throw std::bad_alloc();
    XXH3_128bits_reset(stream.get());
  }
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> stream;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
void Hasher::update(std::string_view bytes) {
  XXH3_128bits_update(state_->stream.get(), bytes.data(), bytes.size());
}
std::string Hasher::hex() const { return to_hex(XXH3_128bits_digest(state_->stream.get())); }

std::string hash_hex(std::string_view bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }

std::string hash_hex(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
  for (std::string_view part : parts) {
    const uint64_t size_bytes = part.size();
    hasher.update({reinterpret_cast<const char*>(&size_bytes), sizeof size_bytes});
    hasher.update(part);
  }
  return hasher.hex();
}

FileHash hash_file(const std::filesystem::path& path) {
  const auto fail = [&] { throw InputError(concat("cannot read ", path.string(), ": ", strerror(errno))); };
  std::ifstream in(path, std::ios::binary);
  if (!in) fail();
  FileHash hash;
  Hasher hasher;
  std::vector<char> piece(kReadBytes);
  while (in) {
    in.read(piece.data(), kReadBytes);
    const auto count = static_cast<size_t>(in.gcount());
    hasher.update({piece.data(), count});
    hash.bytes += count;
  }
  if (in.bad()) fail();
  hash.hex = hasher.hex();
  return hash;
}

}  // namespace bicrl
