#include "common/rng.h"

#include <xxhash.h>

#include <cmath>
#include <numbers>

namespace bicrl {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

uint64_t finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

uint64_t mixed(uint64_t key) { return finalise(key + kGolden); }
uint64_t word_of(uint64_t mixed_key, uint64_t counter) { return finalise(mixed_key ^ (counter * kGolden)); }
uint64_t word_at(uint64_t key, uint64_t counter) { return word_of(mixed(key), counter); }

double to_unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1.0p-53; }

// Box-Muller, from two words.
double to_normal(uint64_t first, uint64_t second) {
  const double u = 1.0 - to_unit(first);
  const double v = to_unit(second);
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace

uint64_t mix_key(std::initializer_list<uint64_t> words) {
  uint64_t key = kGolden;
  for (uint64_t word : words) key = finalise((key ^ word) + kGolden);
  return key;
}

uint64_t mix_key(uint64_t seed, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

double uniform_at(uint64_t key, uint64_t counter) { return to_unit(word_at(key, counter)); }

uint64_t RandomStream::next() { return word_at(key_, counter_++); }

double RandomStream::uniform() { return to_unit(next()); }

uint64_t RandomStream::below(uint64_t bound) {
  // Rejection of the incomplete last interval keeps the draw unbiased.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t word = next();
  while (word >= limit) word = next();
  return word % bound;
}

double RandomStream::normal() {
  const uint64_t first = next();
  return to_normal(first, next());
}

void fill_normal(uint64_t key, uint64_t first, double deviation, float* out, int64_t count) {
  const uint64_t mixed_key = mixed(key);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t counter = 2 * (first + static_cast<uint64_t>(i));
    const double normal = to_normal(word_of(mixed_key, counter), word_of(mixed_key, counter + 1));
    out[i] = static_cast<float>(deviation * normal);
  }
}

}  // namespace bicrl
