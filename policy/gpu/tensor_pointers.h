// Tensors as typed pointers for kernels.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

inline BFloat16* bf16(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<BFloat16*>(tensor.mutable_data_ptr()) : nullptr;
}
inline float* fp32(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<float>() : nullptr;
}
inline const int64_t* int64s(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<int64_t>() : nullptr;
}
inline Stream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

}  // namespace bicrl::gpu
