// Destination of the trained parameters' gradients in a backward pass without autograd: flat sums, one for
// each group of its layout (parameter_layout.h). Called by the thread that runs the pass.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace bicrl {

class GradientSink {
 public:
  virtual ~GradientSink() = default;
  // The group's sum so far, of the store's wide type: [at least the group's size], to be added to.
  virtual at::Tensor sum(int64_t group) = 0;
  // The pass has added all gradients of the group and reads its values no longer. From the last group to the
  // first.
  virtual void complete(int64_t group) = 0;
};

}  // namespace bicrl
