// Random numbers that are the same on every platform, rank count and batch size: a counter-based generator
// (SplitMix64 finaliser over key and counter). A stream is a pure function of its key, so nothing needs
// saving but the key and the counter.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace bicrl {

// Mixes words into one key, e.g. {seed, step, task, sample}.
uint64_t mix_key(std::initializer_list<uint64_t> words);
uint64_t mix_key(uint64_t seed, std::string_view name);

// Uniform in [0, 1) with 53 bits, a pure function of (key, counter).
double uniform_at(uint64_t key, uint64_t counter);

// out[i] = deviation times the normal number `first + i` of RandomStream(key), for i < count.
void fill_normal(uint64_t key, uint64_t first, double deviation, float* out, int64_t count);

class RandomStream {
 public:
  explicit RandomStream(uint64_t key, uint64_t counter = 0) : key_(key), counter_(counter) {}
  uint64_t next();
  double uniform();                // [0, 1)
  uint64_t below(uint64_t bound);  // unbiased, [0, bound)
  double normal();                 // N(0, 1), Box-Muller, two draws each
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }
  uint64_t key() const { return key_; }
  uint64_t counter() const { return counter_; }

 private:
  uint64_t key_;
  uint64_t counter_;
};

}  // namespace bicrl
