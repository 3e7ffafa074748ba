// How far two tensors are apart.
#pragma once
#include <ATen/ATen.h>

namespace bicrl::testing {

// |a - b| / |b|, 2-norms, of any devices and types.
inline double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor left = a.to(at::kCPU, at::kDouble), right = b.to(at::kCPU, at::kDouble);
  return ((left - right).norm() / right.norm()).item<double>();
}

// Of two elements at one place.
inline double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace bicrl::testing
