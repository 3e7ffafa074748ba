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

uint64_t word_at(uint64_t key, uint64_t counter) {
  return finalise(finalise(key + kGolden) ^ (counter * kGolden));
}

double to_unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1.0p-53; }

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
  const double u = 1.0 - uniform();
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace bicrl
