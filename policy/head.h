// The head: logits of hidden rows, in fp32 whatever the policy's type, and what their gradient means for
// hidden rows and weight. Products of low-precision values are exact in fp32; they are summed there and never
// rounded in between, so a log-probability does not depend on the policy's type beyond its weights and hidden
// states. Free functions; thread-safe as long as nobody changes the weight.
#pragma once
#include <ATen/core/Tensor.h>

namespace bicrl {

// hidden [N, hidden], weight [vocab, hidden], of one type -> [N, vocab] fp32. Differentiable for weights of
// full precision only.
at::Tensor head_logits(const at::Tensor& hidden, const at::Tensor& weight);

// The other direction, for one chunk of rows: adds the weight's gradient to weight.grad(), which is fp32 for
// a weight of low precision, and returns the gradient of the hidden rows [N, hidden] in their type.
// logits_gradient: [N, vocab] fp32.
at::Tensor head_backward(const at::Tensor& logits_gradient, const at::Tensor& hidden,
                         const at::Tensor& weight);
// The same gradient of the hidden rows for a weight that is frozen: nothing is added to it.
at::Tensor frozen_head_backward(const at::Tensor& logits_gradient, const at::Tensor& weight);

}  // namespace bicrl
