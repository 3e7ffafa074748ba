// AdamW and the gradient's norm on NVIDIA GPUs: two passes over flat buffers, the second of which clips,
// takes the step and zeroes the gradient. Free of torch. All arrays lie on the device of the stream; calls
// return at once and throw Error, naming the kernel, if it could not be started. Sums have one order.
#pragma once
#include <cstdint>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

// Sums of squares of one array: parts [kSquareParts] fp64, each of a share of the values.
constexpr int64_t kSquareParts = 528;
void sum_squares(const float* values, int64_t count, double* parts, Stream stream);

// squares[i] = the sum of parts[i], for each array; norm = the root of their sum; and the factor that brings
// a gradient of that norm to at most max_norm (0: no limit), or minus one if the norm is not finite.
struct ClipFactor {
  int64_t arrays = 0;
  const double* parts = nullptr;  // [arrays, kSquareParts]
  double max_norm = 0;
  double* squares = nullptr;  // [arrays]
  double* norm = nullptr;     // [1]
  float* factor = nullptr;    // [1]
};
void clip_factor(const ClipFactor& work, Stream stream);

// The state of AdamW for `count` values, and its step with the gradient times the factor. A negative factor
// leaves everything but the gradient, which is zeroed in any case, as it is.
struct AdamWRange {
  int64_t count = 0;
  float* gradient = nullptr;
  float* master = nullptr;  // of a policy in fp32 the policy itself
  float* first = nullptr;
  float* second = nullptr;
  BFloat16* policy = nullptr;  // null: of fp32

  float beta1 = 0, beta2 = 0, eps = 0;
  float decay = 1;                // of the values before the step
  float rate = 0;                 // learning rate over the first moment's correction
  float inverse_root = 1;         // one over the root of the second moment's correction
  const float* factor = nullptr;  // [1]
  int32_t* largest = nullptr;     // [1] the policy's largest magnitude, as the bits of a float >= 0; raised
};
void adamw_step(const AdamWRange& work, Stream stream);

}  // namespace bicrl::gpu
