// The interface that makes a group's parameters present while the transformer reads them, where they are
// sharded and must be gathered first. Called in the order of the forward, and backwards again in the backward
// pass, by the thread that runs it.
#pragma once
#include <cstdint>

namespace bicrl {

class ParameterResidency {
 public:
  virtual ~ParameterResidency() = default;
  // The group's values are about to be read, until after_forward().
  virtual void before_forward(int64_t group) = 0;
  virtual void after_forward(int64_t group) = 0;
  // The backward pass of a layer is about to read them; it is over when all of its gradients are there. The
  // last group is read on between its forward and its backward, by the head.
  virtual void before_backward(int64_t group) = 0;
};

}  // namespace bicrl
