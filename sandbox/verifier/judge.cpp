#include "sandbox/verifier/judge.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "sandbox/recorder/trace/element_types.h"

namespace bicrl {
namespace {

// Of the published tasks: absolute and relative.
constexpr double kPublishedTolerance = 1e-2;
constexpr double kWorstRatio = 1e30;  // finite, so that it survives JSON

bool is_floating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16 || dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2;
}

// Calls body(read) with a function that reads element i as a double, chosen once for the type. A bool is the
// byte that it is: any but 0 is true on a GPU, and only 0 and 1 are well-formed.
template <class Body>
void with_reader(DType dtype, const Body& body) {
  with_element_type(dtype, [&](auto type) {
    using T = decltype(type);
    body([](const char* elements, size_t i) {
      return element_value(load_element<T>(elements + i * sizeof(T)));
    });
  });
}

DType center_type(DType output) {
  return is_floating(output) && output != DType::kFloat64 ? DType::kFloat32 : output;
}

// The nearest value of a type with so many bits of mantissa (the hidden one included), to even.
double rounded(double value, int mantissa_bits, int least_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double quantum = std::ldexp(1, exponent - mantissa_bits + 1);
  const double nearest = std::nearbyint(value / quantum) * quantum;
  if (std::abs(nearest) <= largest) return nearest;
  return std::copysign(std::numeric_limits<double>::infinity(), nearest);
}

double rounded_to(DType dtype, double value) {
  if (dtype == DType::kFloat16) return rounded(value, 11, -14, 65504);
  if (dtype == DType::kBFloat16) return rounded(value, 8, -126, std::ldexp(255, 120));
  if (dtype == DType::kFloat8E4M3) return Float8E4M3::of(static_cast<float>(value)).value();
  if (dtype == DType::kFloat8E5M2) return Float8E5M2::of(static_cast<float>(value)).value();
  return value;
}

// What is not finite must be so in the reference.
struct Worst {
  double ratio = 0;
  bool non_finite = false;

  void see(double got, double want, double allowed) {
    if (got == want || (std::isnan(got) && std::isnan(want))) return;
    double one = kWorstRatio;
    if (std::isfinite(want) && std::isfinite(got))
      one = std::min(std::abs(got - want) / allowed, kWorstRatio);
    else if (std::isfinite(want))
      non_finite = true;
    ratio = std::max(ratio, std::isnan(one) ? kWorstRatio : one);
  }

  Comparison result() const {
    if (non_finite) return {FaultClass::kNonFinite, ratio};
    return {ratio > 1 ? std::optional(FaultClass::kWrongValue) : std::nullopt, ratio};
  }
};

constexpr size_t kBlock = 2048;  // elements that are looked at together, which the caches hold

// Whether one of these may be worse than `worst`, or is nothing to reckon with. In single precision, so with
// room for its rounding: what is not counted here is not worse by the doubles of Worst::see(), either.
bool may_be_worse(const char* got, const char* want, const char* allowed, size_t count, double worst) {
  constexpr float kRoom = 1 - 0x1p-20f;
  // A share below the least normal number is itself rounded by more: then nothing passes but what is equal.
  const float bound = worst < FLT_MIN ? 0 : std::min(static_cast<float>(worst), FLT_MAX) * kRoom;
  unsigned suspects = 0;
  for (size_t i = 0; i < count; ++i) {
    const float gap = std::abs(load_element<float>(got + i * sizeof(float)) -
                               load_element<float>(want + i * sizeof(float)));
    const float limit = load_element<float>(allowed + i * sizeof(float)) * bound;
    // Products below the least normal number are rounded by more than there is room for.
    const unsigned fine = static_cast<unsigned>(gap <= limit) & static_cast<unsigned>(limit >= FLT_MIN) &
                          static_cast<unsigned>(gap <= FLT_MAX);
    suspects |= (fine | static_cast<unsigned>(gap == 0)) ^ 1u;
  }
  return suspects != 0;
}

Comparison compare_floats(DType dtype, const char* outputs, const ExpectedLeaf& expected, size_t count,
                          TolerancePolicy policy) {
  Worst worst;
  const bool published = policy == TolerancePolicy::kPublished;
  const std::string& allowed =
      policy == TolerancePolicy::kTf32 ? expected.allowance_tf32 : expected.allowance;
  const bool screened = dtype == DType::kFloat32 && !published;
  with_reader(dtype, [&](auto got) {
    with_reader(center_type(dtype), [&](auto want) {
      for (size_t begin = 0, end = 0; begin < count; begin = end) {
        end = std::min(begin + kBlock, count);
        const size_t at = begin * sizeof(float);
        if (screened && !may_be_worse(outputs + at, expected.center.data() + at, allowed.data() + at,
                                      end - begin, worst.ratio))
          continue;
        for (size_t i = begin; i < end; ++i) {
          const double center = want(expected.center.data(), i);
          if (published)
            worst.see(got(outputs, i), center, kPublishedTolerance * (1 + std::abs(center)));
          else if (const double allowance = load_element<float>(allowed.data() + i * sizeof(float));
                   !std::isinf(allowance))
            worst.see(got(outputs, i), center, allowance);
        }
      }
    });
  });
  return worst.result();
}

// Each element is right or not: there is no error of one and a half.
Comparison compare_integers(DType dtype, const char* outputs, const ExpectedLeaf& expected, size_t count) {
  const size_t size = element_bytes(dtype);
  for (size_t i = 0; i < count; ++i)
    if (!expected.allowance[i] && memcmp(outputs + i * size, expected.center.data() + i * size, size) != 0)
      return {FaultClass::kWrongValue, kWorstRatio};
  return {};
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

bool fits(const ExpectedLeaf& leaf, DType dtype, uint64_t elements) {
  const uint64_t allowance_bytes = elements * (is_floating(dtype) ? sizeof(float) : 1);
  return leaf.center.size() == elements * element_bytes(center_type(dtype)) &&
         leaf.allowance.size() == allowance_bytes &&
         (leaf.allowance_tf32.empty() || leaf.allowance_tf32.size() == allowance_bytes);
}

Comparison compare_leaf(const OutputLayout::Leaf& leaf, std::string_view outputs,
                        const ExpectedLeaf& expected, TolerancePolicy policy) {
  const size_t count = leaf.numel();
  BICRL_CHECK(fits(expected, leaf.dtype, count) && outputs.size() == leaf.bytes, "a leaf of another size");
  BICRL_CHECK(policy != TolerancePolicy::kTf32 || !count || !expected.allowance_tf32.empty(),
              "the oracle was not asked for a TF32 allowance");
  return is_floating(leaf.dtype) ? compare_floats(leaf.dtype, outputs.data(), expected, count, policy)
                                 : compare_integers(leaf.dtype, outputs.data(), expected, count);
}

Comparison compare_outputs(const OutputLayout& layout, std::string_view outputs,
                           const std::vector<ExpectedLeaf>& expected, TolerancePolicy policy) {
  BICRL_CHECK(expected.size() == layout.leaves.size(), expected.size(), " expected leaves");
  Comparison total;
  for (size_t i = 0; i < layout.leaves.size(); ++i) {
    const auto& leaf = layout.leaves[i];
    BICRL_CHECK(leaf.offset_bytes + leaf.bytes <= outputs.size(), "leaf ", i);
    const Comparison one =
        compare_leaf(leaf, outputs.substr(leaf.offset_bytes, leaf.bytes), expected[i], policy);
    total.max_error_ratio = std::max(total.max_error_ratio, one.max_error_ratio);
    if (!total.fault_class || one.fault_class == FaultClass::kNonFinite)
      if (one.fault_class) total.fault_class = one.fault_class;
  }
  return total;
}

uint64_t unwritten_differences(const OutputLayout& layout, std::string_view outputs,
                               const std::vector<ExpectedLeaf>& expected, std::span<const uint8_t> written) {
  BICRL_CHECK(expected.size() == layout.leaves.size(), expected.size(), " expected leaves");
  uint64_t differences = 0;
  size_t first = 0;
  for (size_t leaf_index = 0; leaf_index < layout.leaves.size(); ++leaf_index) {
    const auto& leaf = layout.leaves[leaf_index];
    const size_t count = leaf.numel();
    BICRL_CHECK(fits(expected[leaf_index], leaf.dtype, count) && first + count <= written.size(), "leaf ",
                leaf_index);
    const char* data = outputs.data() + leaf.offset_bytes;
    const char* center = expected[leaf_index].center.data();
    const auto count_differing = [&](auto differs) {
      for (size_t i = 0; i < count; ++i) differences += !written[first + i] && differs(i);
    };
    if (!is_floating(leaf.dtype)) {
      const size_t size = element_bytes(leaf.dtype);
      count_differing([&](size_t i) { return memcmp(data + i * size, center + i * size, size) != 0; });
    } else {
      with_reader(leaf.dtype, [&](auto got) {
        with_reader(center_type(leaf.dtype), [&](auto want) {
          count_differing([&](size_t i) {
            const double is = got(data, i), should = rounded_to(leaf.dtype, want(center, i));
            return !(is == should || (std::isnan(is) && std::isnan(should)));
          });
        });
      });
    }
    first += count;
  }
  return differences;
}

}  // namespace bicrl
