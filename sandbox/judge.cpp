#include "sandbox/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace bicrl {
namespace {

constexpr double kWorstRatio = 1e30;  // finite, so that it survives JSON

float half_to_float(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(mantissa + 1024, exponent - 25);
  return static_cast<float>(bits & 0x8000 ? -value : value);
}

float bfloat_to_float(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value = 0;
  memcpy(&value, &wide, 4);
  return value;
}

template <class T>
T load(const char* bytes, size_t index) {
  T value;
  memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

// Calls visit(element(a, i), element(b, i)) for every element, with the conversion to double chosen once.
template <class Visit>
void visit_pairs(DType dtype, const char* a, const char* b, size_t count, Visit visit) {
  const auto each = [&](auto element) {
    for (size_t i = 0; i < count; ++i) visit(element(a, i), element(b, i));
  };
  using std::size_t;
  switch (dtype) {
    case DType::kFloat32:
      return each([](const char* p, size_t i) { return double{load<float>(p, i)}; });
    case DType::kFloat64:
      return each([](const char* p, size_t i) { return load<double>(p, i); });
    case DType::kFloat16:
      return each([](const char* p, size_t i) { return double{half_to_float(load<uint16_t>(p, i))}; });
    case DType::kBFloat16:
      return each([](const char* p, size_t i) { return double{bfloat_to_float(load<uint16_t>(p, i))}; });
    case DType::kInt8:
      return each([](const char* p, size_t i) { return double(load<int8_t>(p, i)); });
    case DType::kUInt8:
      return each([](const char* p, size_t i) { return double(load<uint8_t>(p, i)); });
    case DType::kInt16:
      return each([](const char* p, size_t i) { return double(load<int16_t>(p, i)); });
    case DType::kInt32:
      return each([](const char* p, size_t i) { return double(load<int32_t>(p, i)); });
    case DType::kInt64:
      return each([](const char* p, size_t i) { return double(load<int64_t>(p, i)); });
    // Any byte but 0 is true on a GPU; only 0 and 1 are well-formed, so the byte itself is compared.
    case DType::kBool:
      return each([](const char* p, size_t i) { return double(load<uint8_t>(p, i)); });
  }
}

Comparison compare_leaf(DType dtype, const char* outputs, const char* expected, size_t count,
                        const Tolerance& tolerance) {
  Comparison result;
  double worst = 0;
  bool non_finite = false;
  visit_pairs(dtype, outputs, expected, count, [&](double got, double want) {
    double ratio = 0;
    if (std::isfinite(want)) {
      ratio = std::abs(got - want) / (tolerance.atol + tolerance.rtol * std::abs(want));
      if (!std::isfinite(got)) {
        non_finite = true;
        ratio = kWorstRatio;
      }
    } else if (std::isnan(want) ? !std::isnan(got) : got != want) {
      ratio = kWorstRatio;
    }
    worst = std::max(worst, std::isnan(ratio) ? kWorstRatio : std::min(ratio, kWorstRatio));
  });
  result.max_error_ratio = worst;
  if (non_finite)
    result.fault_class = "non_finite";
  else if (worst > 1)
    result.fault_class = "wrong_value";
  return result;
}

std::string shape_text(const nlohmann::json& spec) {
  return concat(spec.value("dtype", "?"), " ", spec.value("shape", nlohmann::json::array()).dump());
}

}  // namespace

std::string structure_difference(const nlohmann::json& returned, const nlohmann::json& expected) {
  const std::string kind = returned.value("t", "?"), wanted = expected.value("t", "?");
  const auto is_sequence = [](const std::string& t) { return t == "list" || t == "tuple"; };
  if (kind != wanted && !(is_sequence(kind) && is_sequence(wanted)))
    return concat("returns a ", kind, " where the reference returns a ", wanted);
  if (kind == "tensor") {
    if (returned.at("shape") == expected.at("shape") && returned.at("dtype") == expected.at("dtype"))
      return {};
    return concat("returns ", shape_text(returned), " where the reference returns ", shape_text(expected));
  }
  if (is_sequence(kind) || kind == "dict") {
    const auto &items = returned.at("items"), &wanted_items = expected.at("items");
    if (items.size() != wanted_items.size())
      return concat("returns ", items.size(), " values where the reference returns ", wanted_items.size());
    if (kind == "dict" && returned.at("keys") != expected.at("keys"))
      return "returns other keys than the reference";
    for (size_t i = 0; i < items.size(); ++i) {
      const std::string difference = structure_difference(items[i], wanted_items[i]);
      if (!difference.empty()) return concat("value ", i, ": ", difference);
    }
    return {};
  }
  if (kind != "none" && returned.value("v", nlohmann::json()) != expected.value("v", nlohmann::json()))
    return concat("returns another ", kind, " than the reference");
  return {};
}

Comparison compare_outputs(const OutputLayout& layout, std::string_view outputs,
                           const std::vector<std::string>& expected, const Tolerance& tolerance) {
  BICRL_CHECK(expected.size() == layout.leaves.size(), expected.size(), " expected leaves");
  Comparison total;
  for (size_t i = 0; i < layout.leaves.size(); ++i) {
    const auto& leaf = layout.leaves[i];
    BICRL_CHECK(leaf.bytes == expected[i].size() && leaf.offset_bytes + leaf.bytes <= outputs.size(), "leaf ",
                i);
    const Comparison one = compare_leaf(leaf.dtype, outputs.data() + leaf.offset_bytes, expected[i].data(),
                                        leaf.bytes / element_bytes(leaf.dtype), tolerance);
    total.max_error_ratio = std::max(total.max_error_ratio, one.max_error_ratio);
    if (total.fault_class.empty() || one.fault_class == "non_finite")
      if (!one.fault_class.empty()) total.fault_class = one.fault_class;
  }
  return total;
}

bool outputs_agree(const OutputLayout& layout, std::string_view a, std::string_view b,
                   const Tolerance& tolerance) {
  bool agree = true;
  for (const auto& leaf : layout.leaves)
    visit_pairs(leaf.dtype, a.data() + leaf.offset_bytes, b.data() + leaf.offset_bytes,
                leaf.bytes / element_bytes(leaf.dtype), [&](double x, double y) {
                  const bool same =
                      std::isnan(x)
                          ? std::isnan(y)
                          : x == y || std::abs(x - y) <= tolerance.atol + tolerance.rtol * std::abs(y);
                  agree = agree && same;
                });
  return agree;
}

}  // namespace bicrl
