#include "sandbox/trace_run/element_copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "sandbox/recorder/trace/element_types.h"

namespace bicrl {
namespace {

// Whole numbers outside of the target's range wrap as on x86; what no integer can hold is its least value.
template <class To>
To whole_number(double value) {
  if (std::isnan(value) || value < -9223372036854775808.0 || value >= 9223372036854775808.0)
    return static_cast<To>(std::numeric_limits<int64_t>::min());
  return static_cast<To>(static_cast<int64_t>(value));
}

template <class To, class From>
To converted(From value) {
  if constexpr (kIsPacked<From>) {
    return converted<To>(value.value());
  } else if constexpr (kIsPacked<To>) {
    return To::of(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    return whole_number<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

using Convert = void (*)(std::byte* to, const std::byte* from);

Convert conversion(DType to_type, DType from_type) {
  Convert found = nullptr;
  with_element_type(to_type, [&](auto to) {
    with_element_type(from_type, [&](auto from) {
      using To = decltype(to);
      using From = decltype(from);
      found = [](std::byte* target, const std::byte* source) {
        To value;
        if constexpr (std::is_same_v<From, bool>)
          value = converted<To>(load_element<bool>(source) != 0);
        else
          value = converted<To>(load_element<From>(source));
        memcpy(target, &value, sizeof value);
      };
    });
  });
  return found;
}

}  // namespace

ElementPlace place_in(ptx::DeviceMemory::Buffer& buffer, uint64_t offset_bytes) {
  ElementPlace place;
  place.data = buffer.data.get() + offset_bytes;
  if (buffer.undefined) place.undefined = buffer.undefined.get() + offset_bytes;
  if (buffer.writers) place.writers = buffer.writers.get() + offset_bytes;
  return place;
}

TensorLayout dense_layout(const OutputLayout::Leaf& leaf) {
  TensorLayout dense{leaf.dtype, leaf.sizes, std::vector<int64_t>(leaf.sizes.size(), 1)};
  for (size_t d = dense.sizes.size(); d-- > 1;)
    dense.strides[d - 1] = dense.strides[d] * std::max<int64_t>(dense.sizes[d], 1);
  return dense;
}

void fill_elements(const TensorLayout& tensor, const ElementPlace& target, std::string_view value,
                   ptx::Writer writer) {
  for_each_element(tensor.sizes, tensor.strides, tensor.strides, [&](int64_t at, int64_t) {
    const size_t offset = static_cast<size_t>(at) * value.size();
    memcpy(target.data + offset, value.data(), value.size());
    if (target.undefined) memset(target.undefined + offset, 0, value.size());
    if (target.writers) memset(target.writers + offset, static_cast<int>(writer), value.size());
  });
}

namespace {

// Elements of one type without gaps on either side, of which no target is also a source: what is copied in
// order otherwise reads what it has written.
bool is_one_run(const TensorLayout& target_tensor, const ElementPlace& target,
                const TensorLayout& source_tensor, const ElementPlace& source) {
  if (target_tensor.dtype != source_tensor.dtype || !target_tensor.is_row_major() ||
      !source_tensor.is_row_major())
    return false;
  const uint64_t bytes = target_tensor.span_bytes();
  const std::less_equal<> is_before;  // of whatever buffers
  return is_before(target.data + bytes, source.data) || is_before(source.data + bytes, target.data);
}

}  // namespace

void copy_elements(const TensorLayout& target_tensor, const ElementPlace& target,
                   const TensorLayout& source_tensor, const ElementPlace& source) {
  const size_t to = element_bytes(target_tensor.dtype), from = element_bytes(source_tensor.dtype);
  const bool same = target_tensor.dtype == source_tensor.dtype;
  const bool shadowed = (target.undefined && source.undefined) || (target.writers && source.writers);
  if (!shadowed && is_one_run(target_tensor, target, source_tensor, source)) {
    if (const uint64_t bytes = target_tensor.span_bytes()) memcpy(target.data, source.data, bytes);
    return;
  }
  const Convert convert = conversion(target_tensor.dtype, source_tensor.dtype);
  for_each_element(
      target_tensor.sizes, target_tensor.strides, source_tensor.strides, [&](int64_t t, int64_t s) {
        const size_t at = static_cast<size_t>(t) * to, origin = static_cast<size_t>(s) * from;
        if (same)
          memmove(target.data + at, source.data + origin, to);
        else
          convert(target.data + at, source.data + origin);
        if (target.undefined && source.undefined) {
          if (same) {
            memmove(target.undefined + at, source.undefined + origin, to);
          } else {
            const uint8_t* bits = source.undefined + origin;
            const bool undefined = std::any_of(bits, bits + from, [](uint8_t b) { return b != 0; });
            memset(target.undefined + at, undefined ? 0xFF : 0, to);
          }
        }
        if (target.writers && source.writers)
          memset(target.writers + at,
                 *std::min_element(source.writers + origin, source.writers + origin + from), to);
      });
}

}  // namespace bicrl
