#include "common/rng.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <set>

using namespace bicrl;

// Saved runs and published figures depend on these values: they must never change.
TEST_CASE("random numbers are the same everywhere and for ever") {
  // Computed with a separate implementation of the same definition (integers of arbitrary size).
  RandomStream stream(42);
  CHECK(stream.next() == 0xb29ed950786f5ae3);
  CHECK(stream.next() == 0xe37241c09304f97f);
  CHECK(stream.next() == 0x18def8c3a67e97f5);
  CHECK(stream.next() == 0xb45531abbfffea2e);
  CHECK(mix_key({1, 2, 3}) == 0x48cf5028b6df10db);
  CHECK(mix_key({}) == 0x9e3779b97f4a7c15);
  CHECK(uniform_at(42, 7) == 0.03987386709849339);
  CHECK(std::abs(RandomStream(mix_key({1, 2, 3})).normal() - -1.1396149920770546) < 1e-15);
  CHECK(RandomStream(42).below(1000) == 11);
  CHECK(mix_key(7, "rollout") == 0xd64731f1895c4bc8);
}

TEST_CASE("a stream is a pure function of key and counter") {
  RandomStream whole(mix_key({5}));
  for (int i = 0; i < 10; ++i) whole.next();
  RandomStream resumed(whole.key(), whole.counter());
  for (int i = 0; i < 10; ++i) CHECK(whole.next() == resumed.next());
  RandomStream stream(9);
  for (uint64_t i = 0; i < 10; ++i) CHECK(stream.uniform() == uniform_at(9, i));
  CHECK(stream.counter() == 10);
}

TEST_CASE("normal numbers in bulk are those of a stream, rounded once") {
  for (const uint64_t first : {uint64_t{0}, uint64_t{1}, uint64_t{12'345'678'901}})
    for (const double deviation : {1.0, 0.02, 3e-30}) {
      std::vector<float> out(5000);
      fill_normal(mix_key({8, first}), first, deviation, out.data(), std::ssize(out));
      RandomStream stream(mix_key({8, first}), 2 * first);
      for (const float value : out) REQUIRE(value == static_cast<float>(deviation * stream.normal()));
    }
}

TEST_CASE("uniform numbers fill the unit interval evenly") {
  constexpr int kDraws = 200000, kBins = 100;
  std::vector<int> bins(kBins);
  double sum = 0, squares = 0, lagged = 0, last = 0.5;
  RandomStream random(mix_key(1, "uniform"));
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    REQUIRE((u >= 0 && u < 1));
    ++bins[static_cast<int>(u * kBins)];
    sum += u;
    squares += u * u;
    lagged += (u - 0.5) * (last - 0.5);
    last = u;
  }
  // Five standard deviations each.
  CHECK(std::abs(sum / kDraws - 0.5) < 5 * std::sqrt(1.0 / 12 / kDraws));
  CHECK(std::abs(squares / kDraws - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / kDraws));
  CHECK(std::abs(lagged / kDraws) < 5 / 12.0 / std::sqrt(kDraws));
  double chi2 = 0;
  for (int count : bins) chi2 += std::pow(count - double(kDraws) / kBins, 2) / (double(kDraws) / kBins);
  CHECK(std::abs(chi2 - (kBins - 1)) < 5 * std::sqrt(2.0 * (kBins - 1)));
}

TEST_CASE("normal numbers have the moments of N(0, 1)") {
  constexpr int kDraws = 200000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  int inside = 0;
  RandomStream random(mix_key(2, "normal"));
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    REQUIRE(std::isfinite(x));
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    inside += std::abs(x) < 1;
  }
  CHECK(random.counter() == 2 * kDraws);
  CHECK(std::abs(m1 / kDraws) < 5 / std::sqrt(kDraws));
  CHECK(std::abs(m2 / kDraws - 1) < 5 * std::sqrt(2.0 / kDraws));
  CHECK(std::abs(m3 / kDraws) < 5 * std::sqrt(15.0 / kDraws));
  CHECK(std::abs(m4 / kDraws - 3) < 5 * std::sqrt(96.0 / kDraws));
  CHECK(std::abs(inside / double(kDraws) - 0.682689) < 5 * std::sqrt(0.2166 / kDraws));
}

TEST_CASE("bounded draws and shuffles are unbiased") {
  RandomStream random(mix_key(3, "bounded"));
  constexpr int kDraws = 70000;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(7));
  for (int count : counts) CHECK(std::abs(count - kDraws / 7) < 5 * std::sqrt(kDraws / 7.0));
  CHECK(random.below(1) == 0);
  // A bound just above half the range would be biased by 2x without rejection.
  const uint64_t bound = (uint64_t{1} << 63) + (uint64_t{1} << 62);
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const uint64_t draw = random.below(bound);
    REQUIRE(draw < bound);
    low += draw < (uint64_t{1} << 62);
  }
  CHECK(std::abs(low - 10000) < 5 * std::sqrt(30000 * 2.0 / 9));

  std::vector<int> places(24);
  for (int i = 0; i < 24000; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    random.shuffle(items);
    int code = 0;  // rank of the permutation
    for (size_t a = 0; a < 4; ++a) {
      int smaller = 0;
      for (size_t b = a + 1; b < 4; ++b) smaller += items[b] < items[a];
      code = code * static_cast<int>(4 - a) + smaller;
    }
    ++places.at(code);
  }
  for (int count : places) CHECK(std::abs(count - 1000) < 5 * std::sqrt(1000.0));
  std::vector<int> empty;
  random.shuffle(empty);
  CHECK(empty.empty());
}

TEST_CASE("keys that differ in anything give streams that have nothing in common") {
  CHECK(mix_key({1, 2}) != mix_key({2, 1}));
  CHECK(mix_key({1}) != mix_key({1, 0}));
  CHECK(mix_key({0}) != mix_key({0, 0}));
  CHECK(mix_key(1, "a") != mix_key(2, "a"));
  CHECK(mix_key(1, "a") != mix_key(1, "b"));
  std::set<uint64_t> keys, words;
  for (uint64_t step = 0; step < 50; ++step)
    for (uint64_t task = 0; task < 50; ++task)
      for (uint64_t sample = 0; sample < 16; ++sample) keys.insert(mix_key({42, step, task, sample}));
  CHECK(keys.size() == 50 * 50 * 16);
  // Neighbouring keys and counters are uncorrelated.
  double across_keys = 0, across_counters = 0;
  constexpr int kPairs = 50000;
  for (uint64_t i = 0; i < kPairs; ++i) {
    across_keys += (uniform_at(i, 0) - 0.5) * (uniform_at(i + 1, 0) - 0.5);
    across_counters += (uniform_at(7, i) - 0.5) * (uniform_at(8, i) - 0.5);
    words.insert(RandomStream(i).next());
  }
  CHECK(words.size() == kPairs);
  CHECK(std::abs(across_keys / kPairs) < 5 / 12.0 / std::sqrt(kPairs));
  CHECK(std::abs(across_counters / kPairs) < 5 / 12.0 / std::sqrt(kPairs));
}
