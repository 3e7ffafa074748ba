#include "policy/gpu/launch_check.h"

#include <cuda_runtime_api.h>

#include "common/error.h"

namespace bicrl::gpu {

void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess)
    throw Error(concat("kernel ", kernel, " could not be started: ", cudaGetErrorString(error)));
}

}  // namespace bicrl::gpu
