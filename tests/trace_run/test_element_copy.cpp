// Fills and copies of the host part: conversions as PyTorch makes them, strides, and shadows.
#include "sandbox/trace_run/element_copy.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>

namespace bicrl {
namespace {

TensorLayout row(DType dtype, int64_t count) { return {dtype, {count}, {1}}; }

template <class To, class From>
std::vector<To> converted(DType to, DType from, const std::vector<From>& values) {
  std::vector<To> result(values.size());
  auto* source = reinterpret_cast<std::byte*>(const_cast<From*>(values.data()));
  const auto count = static_cast<int64_t>(values.size());
  copy_elements(row(to, count), {reinterpret_cast<std::byte*>(result.data()), nullptr, nullptr},
                row(from, count), {source, nullptr, nullptr});
  return result;
}

}  // namespace

TEST_CASE("conversions") {
  const std::vector<float> reals = {0.0F, 1.5F, -2.75F, 65504.0F, 1e-8F};
  CHECK(converted<double>(DType::kFloat64, DType::kFloat32, reals) ==
        std::vector<double>(reals.begin(), reals.end()));
  CHECK(converted<int32_t>(DType::kInt32, DType::kFloat32, reals) ==
        std::vector<int32_t>{0, 1, -2, 65504, 0});
  CHECK(converted<uint8_t>(DType::kBool, DType::kFloat32, reals) == std::vector<uint8_t>{0, 1, 1, 1, 1});
  CHECK(converted<uint16_t>(DType::kFloat16, DType::kFloat32, reals) ==
        std::vector<uint16_t>{0, 0x3E00, 0xC180, 0x7BFF, 0});
  // Ties to even: 1 + 2^-8 lies halfway between 1 and 1 + 2^-7.
  CHECK(converted<uint16_t>(DType::kBFloat16, DType::kFloat32,
                            std::vector<float>{1.0F, 1.00390625F, 1.01171875F, -3.0F}) ==
        std::vector<uint16_t>{0x3F80, 0x3F80, 0x3F82, 0xC040});
  CHECK(converted<float>(DType::kFloat32, DType::kBFloat16, std::vector<uint16_t>{0x3F80, 0xC040}) ==
        std::vector<float>{1, -3});
  CHECK(converted<int8_t>(DType::kInt8, DType::kInt64, std::vector<int64_t>{-1, 127, 256}) ==
        std::vector<int8_t>{-1, 127, 0});
  // A bool may hold any byte.
  CHECK(converted<float>(DType::kFloat32, DType::kBool, std::vector<uint8_t>{0, 1, 200}) ==
        std::vector<float>{0, 1, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(converted<int64_t>(DType::kInt64, DType::kFloat32, std::vector<float>{nan, 1e30F, -1e30F}) ==
        std::vector<int64_t>(3, std::numeric_limits<int64_t>::min()));
}

TEST_CASE("strided copies transpose, expand and leave gaps alone") {
  const float source[6] = {1, 2, 3, 4, 5, 6};
  float target[6] = {};
  auto* from = reinterpret_cast<std::byte*>(const_cast<float*>(source));
  auto* to = reinterpret_cast<std::byte*>(target);
  copy_elements({DType::kFloat32, {3, 2}, {2, 1}}, {to, nullptr, nullptr}, {DType::kFloat32, {3, 2}, {1, 3}},
                {from, nullptr, nullptr});
  CHECK(std::vector<float>(target, target + 6) == std::vector<float>{1, 4, 2, 5, 3, 6});
  copy_elements({DType::kFloat32, {2, 3}, {3, 1}}, {to, nullptr, nullptr}, {DType::kFloat32, {2, 3}, {1, 0}},
                {from, nullptr, nullptr});
  CHECK(std::vector<float>(target, target + 6) == std::vector<float>{1, 1, 1, 2, 2, 2});
  copy_elements({DType::kFloat32, {0, 3}, {3, 1}}, {to, nullptr, nullptr}, {DType::kFloat32, {0, 3}, {3, 1}},
                {from, nullptr, nullptr});
  const float seven = 7;
  fill_elements({DType::kFloat32, {3}, {2}}, {to, nullptr, nullptr},
                {reinterpret_cast<const char*>(&seven), 4}, ptx::Writer::kHost);
  CHECK(std::vector<float>(target, target + 6) == std::vector<float>{7, 1, 7, 2, 7, 2});
}

TEST_CASE("a copy whose source and target share bytes reads what it has written") {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto at = [&](size_t i) {
    return ElementPlace{reinterpret_cast<std::byte*>(values.data() + i), nullptr, nullptr};
  };
  const TensorLayout sixteen{DType::kFloat32, {4, 4}, {4, 1}};
  copy_elements(sixteen, at(1), sixteen, at(0));
  for (size_t i = 0; i < 17; ++i) CHECK(values[i] == 0);
  CHECK(values[17] == 17);
  // Onto what lies before it nothing is read twice; beside it, nothing is shared.
  copy_elements(sixteen, at(20), sixteen, at(21));
  CHECK(values[20] == 21);
  CHECK(values[35] == 36);
  copy_elements(sixteen, at(0), sixteen, at(48));
  CHECK(std::vector<float>(values.begin(), values.begin() + 16) ==
        std::vector<float>(values.begin() + 48, values.end()));
}

TEST_CASE("a converted element is undefined as a whole, and written by the weakest of its bytes' writers") {
  float source[2] = {1, 2};
  uint8_t undefined[8] = {0, 0, 0, 0, 0, 1, 0, 0}, writers[8] = {3, 3, 3, 3, 3, 2, 3, 3};
  uint16_t target[2];
  uint8_t target_undefined[4] = {9, 9, 9, 9}, target_writers[4] = {9, 9, 9, 9};
  copy_elements(row(DType::kFloat16, 2),
                {reinterpret_cast<std::byte*>(target), target_undefined, target_writers},
                row(DType::kFloat32, 2), {reinterpret_cast<std::byte*>(source), undefined, writers});
  CHECK(std::vector<uint8_t>(target_undefined, target_undefined + 4) ==
        std::vector<uint8_t>{0, 0, 0xFF, 0xFF});
  CHECK(std::vector<uint8_t>(target_writers, target_writers + 4) == std::vector<uint8_t>{3, 3, 2, 2});
}

}  // namespace bicrl
