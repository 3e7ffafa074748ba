// Comparison of outputs with the reference's: tolerance, non-finite values, every dtype, structures.
#include "sandbox/verifier/judge.h"

#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace bicrl {
namespace {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

OutputLayout layout_of(DType dtype, size_t count) {
  OutputLayout layout;
  layout.leaves.push_back({dtype, {static_cast<int64_t>(count)}, 0, count * element_bytes(dtype)});
  layout.total_bytes = layout.leaves[0].bytes;
  return layout;
}

// `want` as the oracle sends it: floats in float32 unless the output is float64.
template <class Center>
ExpectedLeaf expected_leaf(const std::vector<Center>& want, const std::vector<float>& allowed) {
  return {bytes_of(want), bytes_of(allowed), ""};
}

template <class T>
ExpectedLeaf exact_leaf(const std::vector<T>& want, const std::vector<uint8_t>& may_differ) {
  return {bytes_of(want), bytes_of(may_differ), ""};
}

template <class T, class Center>
Comparison compare_profile(DType dtype, const std::vector<T>& got, const std::vector<Center>& want,
                           const std::vector<float>& allowed) {
  return compare_outputs(layout_of(dtype, want.size()), bytes_of(got), {expected_leaf(want, allowed)},
                         TolerancePolicy::kProfile);
}

// By the published tolerance.
template <class T, class Center>
Comparison compare(DType dtype, const std::vector<T>& got, const std::vector<Center>& want,
                   TolerancePolicy policy = TolerancePolicy::kPublished) {
  return compare_outputs(layout_of(dtype, want.size()), bytes_of(got),
                         {expected_leaf(want, std::vector<float>(want.size()))}, policy);
}

using Compared = std::optional<FaultClass>;  // none: equal

template <class T>
Compared integers(DType dtype, const std::vector<T>& got, const std::vector<T>& want,
                  std::vector<uint8_t> may_differ = {}) {
  may_differ.resize(want.size());
  return compare_outputs(layout_of(dtype, want.size()), bytes_of(got), {exact_leaf(want, may_differ)},
                         TolerancePolicy::kProfile)
      .fault_class;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST_CASE("each element has an allowance of its own") {
  const std::vector<float> want{1, 100, -3}, allowed{0.5f, 1e-3f, 0};
  CHECK_FALSE(compare_profile<float>(DType::kFloat32, {1.5f, 100.001f, -3}, want, allowed).fault_class);
  const Comparison off = compare_profile<float>(DType::kFloat32, {1.25f, 100.25f, -3}, want, allowed);
  CHECK(off.fault_class == FaultClass::kWrongValue);
  CHECK(off.max_error_ratio == Catch::Approx(250).epsilon(1e-3));
  CHECK(compare_profile<float>(DType::kFloat32, {1, 100, -3.0000002f}, want, allowed).fault_class ==
        FaultClass::kWrongValue);
  // The reference itself does not know this element.
  CHECK_FALSE(
      compare_profile<float>(DType::kFloat32, {kNan, 100, -3}, want, {kInfinity, 1e-3f, 0}).fault_class);
}

TEST_CASE("room for TF32 is given if the policy says so") {
  ExpectedLeaf leaf = expected_leaf<float>({10}, {1e-3f});
  leaf.allowance_tf32 = bytes_of<float>({1e-2f});
  const auto fault = [&](float got, TolerancePolicy policy) {
    return compare_outputs(layout_of(DType::kFloat32, 1), bytes_of<float>({got}), {leaf}, policy).fault_class;
  };
  CHECK(fault(10.005f, TolerancePolicy::kProfile) == FaultClass::kWrongValue);
  CHECK_FALSE(fault(10.005f, TolerancePolicy::kTf32));
  CHECK(fault(10.05f, TolerancePolicy::kTf32) == FaultClass::kWrongValue);
  CHECK_FALSE(fault(10.05f, TolerancePolicy::kPublished));
}

TEST_CASE("the published tolerance is absolute plus relative to the reference") {
  CHECK_FALSE(
      compare<float>(DType::kFloat32, std::vector{1.0f, 100.0f}, std::vector{1.0f, 100.9f}).fault_class);
  const Comparison off =
      compare<float>(DType::kFloat32, std::vector{0.0f, 102.1f}, std::vector{0.0f, 100.0f});
  CHECK(off.fault_class == FaultClass::kWrongValue);
  CHECK(off.max_error_ratio == Catch::Approx(2.1 / 1.01).epsilon(1e-3));
  // A huge answer must not widen its own tolerance.
  CHECK(compare<float>(DType::kFloat32, std::vector{1e30f}, std::vector{1.0f}).fault_class ==
        FaultClass::kWrongValue);
}

TEST_CASE("what is not finite must be so in the reference") {
  const auto both = [](std::vector<float> got, std::vector<float> want) {
    const Compared published = compare<float>(DType::kFloat32, got, want).fault_class;
    CHECK(compare_profile<float>(DType::kFloat32, got, want, std::vector<float>(want.size(), 0.1f))
              .fault_class == published);
    return published;
  };
  for (const float bad : {kNan, kInfinity, -kInfinity})
    CHECK(both({0, bad}, {0, 1}) == FaultClass::kNonFinite);
  CHECK_FALSE(both({kNan, kInfinity}, {kNan, kInfinity}));
  CHECK(both({-kInfinity}, {kInfinity}) == FaultClass::kWrongValue);
  CHECK(both({1}, {kNan}) == FaultClass::kWrongValue);
  CHECK(both({kNan}, {kInfinity}) == FaultClass::kWrongValue);
  CHECK(std::isfinite(compare<float>(DType::kFloat32, std::vector{kNan}, std::vector{1.0f}).max_error_ratio));
}

TEST_CASE("every dtype is read as what it is") {
  CHECK_FALSE(compare<double>(DType::kFloat64, std::vector{1e300}, std::vector{1e300}).fault_class);
  CHECK(compare_profile<double>(DType::kFloat64, {1 + 1e-12}, std::vector<double>{1}, {1e-13f}).fault_class ==
        FaultClass::kWrongValue);
  // 1.0, 65504, smallest subnormal, infinity
  CHECK_FALSE(compare_profile<uint16_t>(DType::kFloat16, {0x3C00, 0x7BFF, 1, 0x7C00},
                                        std::vector<float>{1, 65504, 5.9604645e-8f, kInfinity}, {0, 0, 0, 0})
                  .fault_class);
  const std::vector<float> one{1};
  CHECK(compare<uint16_t>(DType::kFloat16, {0xBC00}, one).max_error_ratio == Catch::Approx(2 / 0.02));
  CHECK(compare<uint16_t>(DType::kFloat16, {0x7E00}, one).fault_class == FaultClass::kNonFinite);
  CHECK_FALSE(compare<uint16_t>(DType::kBFloat16, {0x3F80, 0x4000}, std::vector<float>{1, 2}).fault_class);
  CHECK(compare<uint16_t>(DType::kBFloat16, {0x4000}, one).max_error_ratio == Catch::Approx(1 / 0.02));
}

TEST_CASE("integers and booleans are exact but where they may differ") {
  CHECK(integers<int64_t>(DType::kInt64, {-5, 7}, {-5, 8}) == FaultClass::kWrongValue);
  CHECK_FALSE(integers<int64_t>(DType::kInt64, {-5, 7}, {-5, 8}, {0, 1}));
  CHECK(integers<int64_t>(DType::kInt64, {-5, 7}, {-5, 8}, {1, 0}) == FaultClass::kWrongValue);
  // A double holds neither.
  CHECK(integers<int64_t>(DType::kInt64, {(1ll << 60) + 1}, {1ll << 60}) == FaultClass::kWrongValue);
  // 1e-2 of a large count is a wrong count.
  CHECK(integers<int32_t>(DType::kInt32, {100001}, {100000}) == FaultClass::kWrongValue);
  CHECK_FALSE(integers<int32_t>(DType::kInt32, {-5}, {-5}));
  CHECK(integers<int8_t>(DType::kInt8, {-1}, {1}) == FaultClass::kWrongValue);
  CHECK(integers<uint8_t>(DType::kUInt8, {255}, {0}) == FaultClass::kWrongValue);
  CHECK_FALSE(integers<uint8_t>(DType::kBool, {1, 0}, {1, 0}));
  CHECK(integers<uint8_t>(DType::kBool, {0xFF}, {1}) == FaultClass::kWrongValue);
}

TEST_CASE("the worst of several outputs counts") {
  OutputLayout layout = layout_of(DType::kFloat32, 1);
  layout.leaves.push_back({DType::kInt32, {1}, 64, 4});
  layout.total_bytes = 68;
  const auto fault = [&](float a, int32_t b) {
    std::string bytes(68, '\0');
    memcpy(bytes.data(), &a, 4);
    memcpy(bytes.data() + 64, &b, 4);
    return compare_outputs(layout, bytes, {expected_leaf<float>({1}, {0.1f}), exact_leaf<int32_t>({3}, {0})},
                           {})
        .fault_class;
  };
  CHECK_FALSE(fault(1, 3));
  CHECK(fault(1, 4) == FaultClass::kWrongValue);
  CHECK(fault(2, 3) == FaultClass::kWrongValue);
  CHECK(fault(kNan, 4) == FaultClass::kNonFinite);
}

TEST_CASE("what no kernel wrote must equal the reference exactly") {
  const auto differing = [](DType dtype, const auto& got, const std::vector<float>& want,
                            const std::vector<uint8_t>& written) {
    return unwritten_differences(layout_of(dtype, want.size()), bytes_of(got),
                                 {expected_leaf(want, std::vector<float>(want.size(), 10.0f))}, written);
  };
  const std::vector<float> want{1, 0, 3, kNan};
  CHECK(differing(DType::kFloat32, std::vector<float>{1, -0.0f, 3.0000002f, kNan}, want, {0, 0, 1, 0}) == 0);
  CHECK(differing(DType::kFloat32, std::vector<float>{1, 0, 3.0000002f, 7}, want, {0, 0, 0, 0}) == 2);
  // The answer rounded to fp16 and bf16, ties to even: 0.1, 2049, 65520, 1e-7; 1.00390625.
  CHECK(differing(DType::kFloat16, std::vector<uint16_t>{0x2E66, 0x6800, 0x7C00, 2},
                  {0.1f, 2049.0f, 65520.0f, 1e-7f}, {0, 0, 0, 0}) == 0);
  CHECK(differing(DType::kFloat16, std::vector<uint16_t>{0x2E67}, {0.1f}, {0}) == 1);
  CHECK(differing(DType::kBFloat16, std::vector<uint16_t>{0x3F80, 0x3F82}, {1.00390625f, 1.01171875f},
                  {0, 0}) == 0);
  CHECK(unwritten_differences(layout_of(DType::kInt64, 2), bytes_of<int64_t>({(1ll << 60) + 1, 5}),
                              {exact_leaf<int64_t>({1ll << 60, 5}, {1, 1})},
                              std::vector<uint8_t>{0, 0}) == 1);
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

// As tolerances are defined: element by element, in double precision.
Comparison by_definition(const std::vector<float>& got, const std::vector<float>& want,
                         const std::vector<float>& allowed) {
  double worst = 0;
  bool non_finite = false;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(allowed[i]) || got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    double ratio = 1e30;
    if (std::isfinite(got[i]) && std::isfinite(want[i]))
      ratio = std::min(std::abs(double{got[i]} - double{want[i]}) / double{allowed[i]}, 1e30);
    else if (std::isfinite(want[i]))
      non_finite = true;
    worst = std::max(worst, std::isnan(ratio) ? 1e30 : ratio);
  }
  if (non_finite) return {FaultClass::kNonFinite, worst};
  return {worst > 1 ? std::optional(FaultClass::kWrongValue) : std::nullopt, worst};
}

TEST_CASE("a share that single precision cannot tell from the next is compared as any other") {
  std::vector<float> got(5000), want(5000), allowed(5000, 1);
  want[10] = 0x1.81b6dcp-50f;  // the worst so far, when the block of the next one is looked at
  want[4000] = 0x1.81b6e6p-50f;
  allowed[10] = allowed[4000] = 0x1.b6188p+99f;
  const double expected = by_definition(got, want, allowed).max_error_ratio;
  CHECK(expected == double{want[4000]} / double{allowed[4000]});
  CHECK(compare_profile(DType::kFloat32, got, want, allowed).max_error_ratio == expected);
}

TEST_CASE("many elements are compared as each of them is") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::mt19937_64 random(3);
  const auto uniform = [&] { return std::uniform_real_distribution<float>(0, 1)(random); };
  const float odd[] = {0,      -0.0f,        kNan,    kInfinity, -kInfinity, 1e-45f,
                       3e-39f, 1.17549e-38f, 3.4e38f, -3.4e38f,  1,          1e-30f};
  for (int round = 0; round < 400; ++round) {
    const size_t count = 1 + random() % 9000;
    const float scale = std::pow(10.0f, 80 * uniform() - 44), error = std::pow(10.0f, -8 * uniform());
    const bool rough = round % 4 == 0;  // with numbers of all kinds, anywhere
    std::vector<float> got(count), want(count), allowed(count);
    for (size_t i = 0; i < count; ++i) {
      want[i] = scale * (uniform() - 0.5f);
      allowed[i] = scale * (1e-4f + 1e-3f * uniform());
      got[i] = want[i] + (2 * uniform() - 1) * error * allowed[i];
    }
    for (int k = static_cast<int>(random() % (rough ? 40 : 2)); k > 0; --k) {
      std::vector<float>& changed = std::array{&got, &want, &allowed}[random() % 3][0];
      const float value = odd[random() % std::size(odd)];
      changed[random() % count] = &changed == &allowed ? std::abs(value) : value;
    }
    const Comparison expected = by_definition(got, want, allowed);
    const Comparison found = compare_profile(DType::kFloat32, got, want, allowed);
    INFO(round << ": " << count << " elements of " << scale);
    CHECK(found.fault_class == expected.fault_class);
    CHECK(found.max_error_ratio == expected.max_error_ratio);
  }
}

}  // namespace
}  // namespace bicrl
