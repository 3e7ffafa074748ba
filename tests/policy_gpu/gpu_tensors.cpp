#include "tests/policy_gpu/gpu_tensors.h"

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include <catch2/catch_test_macros.hpp>

namespace bicrl::testing {

void require_gpu() {
  if (c10::cuda::device_count() == 0) SKIP("there is no GPU");
}

gpu::Stream current_stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

at::Tensor on_gpu(const at::Tensor& tensor) { return tensor.to(at::Device(at::kCUDA, 0)); }

}  // namespace bicrl::testing
