// Operations of the host part on device memory besides launches: fills, and copies between strided tensors
// with conversion, as PyTorch makes them. Where memory keeps shadows, a copied element keeps who wrote it,
// and stays undefined if it was. Pure functions over the bytes given.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl {

// The first element of a tensor in memory; the shadows are null where nobody keeps them.
struct ElementPlace {
  std::byte* data = nullptr;
  uint8_t* undefined = nullptr;
  uint8_t* writers = nullptr;
};
ElementPlace place_in(ptx::DeviceMemory::Buffer& buffer, uint64_t offset_bytes);

// The tensor as outputs are stored, without gaps.
TensorLayout dense_layout(const OutputLayout::Leaf& leaf);

// Every element of the tensor at `target` becomes `value`, the bytes of one element.
void fill_elements(const TensorLayout& tensor, const ElementPlace& target, std::string_view value,
                   ptx::Writer writer);

// Both tensors have the same sizes.
void copy_elements(const TensorLayout& target_tensor, const ElementPlace& target,
                   const TensorLayout& source_tensor, const ElementPlace& source);

// Calls visit(offset in a, offset in b), in elements, for each element of a tensor in order; `a` and `b` are
// strides.
template <class Visit>
void for_each_element(const std::vector<int64_t>& sizes, const std::vector<int64_t>& a,
                      const std::vector<int64_t>& b, const Visit& visit) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at_a = 0, at_b = 0;
  while (true) {
    visit(at_a, at_b);
    size_t d = sizes.size();
    for (; d > 0; --d) {
      at_a += a[d - 1];
      at_b += b[d - 1];
      if (++index[d - 1] < sizes[d - 1]) break;
      at_a -= a[d - 1] * sizes[d - 1];
      at_b -= b[d - 1] * sizes[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace bicrl
