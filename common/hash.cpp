#include "common/hash.h"

#include <xxhash.h>

#include <cstdio>
#include <memory>

namespace bicrl {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  char text[33];
  snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
           static_cast<unsigned long long>(hash.low64));
  return text;
}

}  // namespace

std::string hash_hex(std::string_view bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }

std::string hash_hex(std::initializer_list<std::string_view> parts) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  for (std::string_view part : parts) {
    const uint64_t size_bytes = part.size();
    XXH3_128bits_update(state.get(), &size_bytes, sizeof size_bytes);
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  return to_hex(XXH3_128bits_digest(state.get()));
}

}  // namespace bicrl
