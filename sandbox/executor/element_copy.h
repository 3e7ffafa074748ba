// What the host part does to device memory besides launches: fills, and copies between strided tensors with
// conversion, as PyTorch makes them. Where memory keeps shadows, a copied element keeps who wrote it, and
// stays undefined if it was. Pure functions over the bytes given.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sandbox/ptx/device_memory.h"
#include "sandbox/trace/trace.h"

namespace bicrl {

// The first element of a tensor in memory; the shadows are null where nobody keeps them.
struct ElementPlace {
  std::byte* data = nullptr;
  uint8_t* undefined = nullptr;
  uint8_t* writers = nullptr;
};
ElementPlace place_in(ptx::DeviceMemory::Buffer& buffer, uint64_t offset_bytes);

// Every element of the tensor at `target` becomes `value`, the bytes of one element.
void fill_elements(const TensorLayout& tensor, const ElementPlace& target, std::string_view value,
                   ptx::Writer writer);

// Both tensors have the same sizes.
void copy_elements(const TensorLayout& target_tensor, const ElementPlace& target,
                   const TensorLayout& source_tensor, const ElementPlace& source);

}  // namespace bicrl
