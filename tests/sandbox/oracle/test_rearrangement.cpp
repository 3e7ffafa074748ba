#include "sandbox/oracle/rearrangement.h"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <functional>
#include <random>

using namespace bicrl;

namespace {

constexpr size_t kRows = 6, kColumns = 10, kAll = kRows * kColumns;

using Reference = std::function<std::vector<float>(const std::vector<float>&)>;

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TestInput test_input_of(const Reference& reference, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> input(kAll);
  for (float& value : input) value = normal(random);
  TestInput test_input;
  test_input.kind = "plain";
  test_input.inputs = {bytes_of(input)};
  test_input.expected.resize(1);
  test_input.expected[0].center = bytes_of(reference(input));
  return test_input;
}

bool rearranges(const Reference& reference) {
  InputLayout inputs;
  inputs.leaves.resize(1);
  inputs.leaves[0].tensor = {DType::kFloat32, {kRows, kColumns}, {kColumns, 1}};
  std::vector<TestInput> test_inputs = {test_input_of(reference, 1), test_input_of(reference, 2)};
  OutputLayout::Leaf leaf;
  leaf.dtype = DType::kFloat32;
  leaf.bytes = test_inputs[0].expected[0].center.size();
  leaf.sizes = {static_cast<int64_t>(leaf.numel())};
  test_inputs.insert(test_inputs.begin() + 1, test_inputs[0]);
  test_inputs[1].kind = "sparse";
  return only_rearranges(inputs, leaf, 0, test_inputs);
}

std::vector<float> each(const std::vector<float>& x, const std::function<float(size_t)>& value) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < y.size(); ++i) y[i] = value(i);
  return y;
}

}  // namespace

TEST_CASE("references that only put elements elsewhere") {
  CHECK(rearranges([](const auto& x) {  // transposed
    return each(x, [&](size_t i) { return x[i % kRows * kColumns + i / kRows]; });
  }));
  CHECK(rearranges([](const auto& x) { return each(x, [&](size_t i) { return x[kAll - 1 - i]; }); }));
  CHECK(rearranges([](const auto& x) {  // every other one, behind constants
    return each(x, [&](size_t i) { return i < 20 ? 0.5f : x[2 * (i - 20) % kAll]; });
  }));
  CHECK(rearranges([](const auto& x) {  // each twice
    std::vector<float> y;
    for (const float value : x) y.insert(y.end(), 2, value);
    return y;
  }));
}

TEST_CASE("references that compute, or choose by value") {
  CHECK_FALSE(
      rearranges([](const auto& x) { return each(x, [&](size_t i) { return 2 * x[kAll - 1 - i]; }); }));
  CHECK_FALSE(
      rearranges([](const auto& x) { return each(x, [&](size_t i) { return std::max(x[i], 0.f); }); }));
  CHECK_FALSE(rearranges([](auto x) {
    std::sort(x.begin(), x.end());
    return x;
  }));
  CHECK_FALSE(rearranges([](const auto& x) {  // the larger neighbour
    return each(x, [&](size_t i) { return std::max(x[i], x[(i + 1) % kAll]); });
  }));
  CHECK_FALSE(rearranges([](const auto& x) {  // one of them computed
    return each(x, [&](size_t i) { return i == 7 ? x[7] + x[8] : x[kAll - 1 - i]; });
  }));
  CHECK_FALSE(rearranges([](const auto& x) { return std::vector<float>(x.size(), 3.f); }));
  CHECK_FALSE(rearranges([](const auto& x) { return each(x, [&](size_t i) { return std::round(x[i]); }); }));
}
