// The embedding of tokens, with a gradient that is summed in fp32: a token may stand in thousands of rows of
// a pack (MASK does), and a low-precision sum of so many stops growing. Thread-safe as at::embedding is.
#pragma once
#include <ATen/core/Tensor.h>

namespace bicrl {

// weight [vocab, hidden], tokens [T] int64 -> [T, hidden].
at::Tensor embed(const at::Tensor& weight, const at::Tensor& tokens);

}  // namespace bicrl
