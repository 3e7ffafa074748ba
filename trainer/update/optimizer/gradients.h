// Gradients of a policy's parameters: when they are built, and their norm. Refer to the store, which must
// outlive them. Not thread-safe.
#pragma once
#include "policy/parameters/parameter_store.h"
#include "trainer/ranks/control_plane.h"

namespace bicrl {

// Lets gradients reach the parameters while it lives, so that generation between updates builds no graph.
class GradientScope {
 public:
  explicit GradientScope(ParameterStore& store);
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  ParameterStore& store_;
};

// Scales the gradient to a global 2-norm of at most `max_norm` (0: no limit) and returns the norm before. A
// norm that is not finite leaves the gradient as it is. `summed` is what holds the sum over all ranks: the
// whole gradient, or this rank's shard of it; the norm is the same to the bit. Collective.
double clip_global_norm(ParameterStore& store, double max_norm, PartExtent summed, ControlPlane& control);

}  // namespace bicrl
