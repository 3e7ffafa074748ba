#include "sandbox/oracle/rearrangement.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sandbox/recorder/trace/element_types.h"

namespace bicrl {
namespace {

constexpr size_t kSamples = 512;
constexpr size_t kEnough = 8;  // places found that agree

template <class T>
double value_at(const char* bytes, size_t element) {
  return element_value(load_element<T>(bytes + element * sizeof(T)));
}

// Of floating point; integers and bytes repeat too often to tell places apart.
template <class Visit>
void for_each_value(DType dtype, const std::string& bytes, const Visit& visit) {
  with_element_type(dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_integral_v<T> && sizeof(T) > 1)
      for (size_t i = 0; i < bytes.size() / sizeof(T); ++i) visit(i, value_at<T>(bytes.data(), i));
  });
}

struct Place {
  size_t leaf = 0, element = 0;
  bool unique = true;
};

double expected_value(const OutputLayout::Leaf& leaf, const std::string& center, size_t element) {
  return leaf.dtype == DType::kFloat64 ? value_at<double>(center.data(), element)
                                       : value_at<float>(center.data(), element);
}

std::unordered_map<double, Place> places_of(const InputLayout& inputs, const TestInput& test_input,
                                            const std::vector<double>& wanted) {
  std::unordered_map<double, std::optional<Place>> found;
  for (const double value : wanted) found.emplace(value, std::nullopt);
  for (size_t l = 0; l < inputs.leaves.size(); ++l)
    for_each_value(inputs.leaves[l].tensor.dtype, test_input.inputs[l], [&](size_t element, double value) {
      const auto entry = found.find(value);
      if (entry == found.end()) return;
      if (entry->second)
        entry->second->unique = false;
      else
        entry->second = Place{l, element};
    });
  std::unordered_map<double, Place> places;
  for (const auto& [value, place] : found)
    if (place) places.emplace(value, *place);
  return places;
}

double input_value(const InputLayout& inputs, const TestInput& test_input, const Place& place) {
  double value = 0;
  with_element_type(inputs.leaves[place.leaf].tensor.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (!std::is_integral_v<T> && sizeof(T) > 1)
      value = value_at<T>(test_input.inputs[place.leaf].data(), place.element);
  });
  return value;
}

}  // namespace

bool only_rearranges(const InputLayout& inputs, const OutputLayout::Leaf& leaf, size_t leaf_index,
                     const TestInput& one, const TestInput& other) {
  if (leaf.dtype != DType::kFloat32 && leaf.dtype != DType::kFloat64 && leaf.dtype != DType::kFloat16 &&
      leaf.dtype != DType::kBFloat16)
    return false;
  const size_t step = std::max<size_t>(1, leaf.numel() / kSamples);
  std::vector<double> values, others;
  for (size_t e = 0; e < leaf.numel(); e += step) {
    values.push_back(expected_value(leaf, one.expected[leaf_index].center, e));
    others.push_back(expected_value(leaf, other.expected[leaf_index].center, e));
  }
  const auto places = places_of(inputs, one, values);
  size_t agree = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto place = places.find(values[i]);
    if (place == places.end()) {
      if (values[i] != others[i]) return false;
    } else if (place->second.unique) {
      if (input_value(inputs, other, place->second) != others[i]) return false;
      ++agree;
    }
  }
  return agree >= std::min(kEnough, values.size());
}

bool only_rearranges(const InputLayout& inputs, const OutputLayout::Leaf& leaf, size_t leaf_index,
                     const std::vector<TestInput>& test_inputs) {
  const auto is_plain = [](const TestInput& test_input) { return test_input.kind == "plain"; };
  const auto one = std::find_if(test_inputs.begin(), test_inputs.end(), is_plain);
  if (one == test_inputs.end()) return false;
  const auto other = std::find_if(one + 1, test_inputs.end(), is_plain);
  return other != test_inputs.end() && only_rearranges(inputs, leaf, leaf_index, *one, *other);
}

}  // namespace bicrl
