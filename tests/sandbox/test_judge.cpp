// Comparison of outputs with the reference's: tolerance, non-finite values, every dtype, structures.
#include "sandbox/judge.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>

namespace bicrl {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

OutputLayout layout_of(DType dtype, size_t count) {
  OutputLayout layout;
  layout.leaves.push_back({dtype, {static_cast<int64_t>(count)}, 0, count * element_bytes(dtype)});
  layout.draw_bytes = layout.leaves[0].bytes;
  return layout;
}

template <class T>
Comparison compare(DType dtype, const std::vector<T>& got, const std::vector<T>& want,
                   Tolerance tolerance = {}) {
  return compare_outputs(layout_of(dtype, want.size()), bytes_of(got), {bytes_of(want)}, tolerance);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("the tolerance is absolute plus relative to the reference") {
  CHECK(compare<float>(DType::kFloat32, {1.0f, 100.0f}, {1.0f, 100.9f}).fault_class.empty());
  const Comparison off = compare<float>(DType::kFloat32, {0, 102.1f}, {0, 100});
  CHECK(off.fault_class == "wrong_value");
  CHECK(off.max_error_ratio == Catch::Approx(2.1 / 1.01).epsilon(1e-3));
  // A huge answer must not widen its own tolerance.
  CHECK(compare<float>(DType::kFloat32, {1e30f}, {1}).fault_class == "wrong_value");
  CHECK(compare<float>(DType::kFloat32, {1.05f}, {1}, {1e-1, 0}).fault_class.empty());
}

TEST_CASE("what is not finite must be so in the reference") {
  for (const float bad : {kNan, kInfinity, -kInfinity})
    CHECK(compare<float>(DType::kFloat32, {0, bad}, {0, 1}).fault_class == "non_finite");
  CHECK(compare<float>(DType::kFloat32, {kNan, kInfinity}, {kNan, kInfinity}).fault_class.empty());
  CHECK(compare<float>(DType::kFloat32, {-kInfinity}, {kInfinity}).fault_class == "wrong_value");
  CHECK(compare<float>(DType::kFloat32, {1}, {kNan}).fault_class == "wrong_value");
  CHECK(compare<float>(DType::kFloat32, {kNan}, {kInfinity}).fault_class == "wrong_value");
  CHECK(std::isfinite(compare<float>(DType::kFloat32, {kNan}, {1}).max_error_ratio));
}

TEST_CASE("every dtype is read as what it is") {
  CHECK(compare<double>(DType::kFloat64, {1e300}, {1e300}).fault_class.empty());
  CHECK(compare<int64_t>(DType::kInt64, {-5, 7}, {-5, 8}).fault_class == "wrong_value");
  CHECK(compare<int32_t>(DType::kInt32, {-5}, {-5}).fault_class.empty());
  CHECK(compare<int8_t>(DType::kInt8, {-1}, {1}).fault_class == "wrong_value");
  CHECK(compare<uint8_t>(DType::kUInt8, {255}, {0}).fault_class == "wrong_value");
  CHECK(compare<uint8_t>(DType::kBool, {1, 0}, {1, 0}).fault_class.empty());
  CHECK(compare<uint8_t>(DType::kBool, {0xFF}, {1}).fault_class == "wrong_value");
  // 1.0, 65504, smallest subnormal, infinity
  CHECK(compare<uint16_t>(DType::kFloat16, {0x3C00, 0x7BFF, 1, 0x7C00}, {0x3C00, 0x7BFF, 1, 0x7C00})
            .fault_class.empty());
  CHECK(compare<uint16_t>(DType::kFloat16, {0xBC00}, {0x3C00}).max_error_ratio == Catch::Approx(2 / 0.02));
  CHECK(compare<uint16_t>(DType::kFloat16, {0x7E00}, {0x3C00}).fault_class == "non_finite");
  CHECK(compare<uint16_t>(DType::kBFloat16, {0x3F80, 0x4000}, {0x3F80, 0x4000}).fault_class.empty());
  CHECK(compare<uint16_t>(DType::kBFloat16, {0x4000}, {0x3F80}).max_error_ratio == Catch::Approx(1 / 0.02));
}

TEST_CASE("structures: shape, dtype and nesting count, strides and list or tuple do not") {
  using nlohmann::json;
  const auto tensor = [](const json& shape, const char* dtype) {
    return json{{"t", "tensor"}, {"shape", shape}, {"strides", {9}}, {"dtype", dtype}};
  };
  const json want{{"t", "tuple"}, {"items", {tensor({2, 3}, "float32"), tensor(json::array(), "int64")}}};
  json got = want;
  got["t"] = "list";
  got["items"][0]["strides"] = {1, 2};
  CHECK(structure_difference(got, want).empty());
  got["items"][0] = tensor({3, 2}, "float32");
  CHECK(structure_difference(got, want).find("[3,2]") != std::string::npos);
  got["items"][0] = tensor({2, 3}, "float64");
  CHECK_FALSE(structure_difference(got, want).empty());
  got["items"] = {want["items"][0]};
  CHECK_FALSE(structure_difference(got, want).empty());
  CHECK_FALSE(structure_difference({{"t", "none"}}, tensor({1}, "float32")).empty());
  CHECK_FALSE(structure_difference({{"t", "int"}, {"v", 1}}, {{"t", "int"}, {"v", 2}}).empty());
}

TEST_CASE("two runs agree within tolerance, or in being not finite") {
  const OutputLayout layout = layout_of(DType::kFloat32, 2);
  CHECK(outputs_agree(layout, bytes_of<float>({1, kNan}), bytes_of<float>({1.001f, kNan}), {}));
  CHECK_FALSE(outputs_agree(layout, bytes_of<float>({1, kNan}), bytes_of<float>({1, 2}), {}));
  CHECK_FALSE(outputs_agree(layout, bytes_of<float>({1, 2}), bytes_of<float>({1, 3}), {}));
}

}  // namespace
}  // namespace bicrl
