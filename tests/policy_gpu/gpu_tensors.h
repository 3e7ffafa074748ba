// Tensors on the GPU at hand, for tests of kernels.
#pragma once
#include <ATen/ATen.h>

#include <cstring>
#include <vector>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::testing {

// Skips the running test, with the reason, where there is no GPU.
void require_gpu();
gpu::Stream current_stream();
at::Tensor on_gpu(const at::Tensor& tensor);
inline gpu::BFloat16* bf16(const at::Tensor& tensor) {
  return static_cast<gpu::BFloat16*>(tensor.mutable_data_ptr());
}
template <class T>
at::Tensor bytes_on_gpu(const std::vector<T>& values) {
  const at::Tensor bytes = at::empty({static_cast<int64_t>(values.size() * sizeof(T))}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), values.data(), values.size() * sizeof(T));
  return on_gpu(bytes);
}

}  // namespace bicrl::testing
