// Root-mean-square normalisation, the most frequent small operation of the model. Stateless; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

namespace bicrl {

// x: [..., n], weight: [n] -> x / sqrt(mean(x^2) + eps) * weight over the last dimension, statistic in fp32.
// Differentiable in both. fp32 on the CPU takes one pass of our own each way; the library composes a
// dozen operations; everything else is the library's.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace bicrl
