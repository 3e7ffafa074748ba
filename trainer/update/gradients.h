// Gradients of a policy's parameters in its store: fp32 sums (fp64 for an fp64 policy) over the passes of an
// update. Refer to the store, which must outlive them. Not thread-safe.
#pragma once
#include "policy/parameter_store.h"

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

// Adds the parameters' .grad to ParameterPart::kGradient and drops it.
void take_gradients(ParameterStore& store);
void zero_gradients(ParameterStore& store);

// Scales the gradient to a global 2-norm of at most `max_norm` (0: no limit) and returns the norm before. A
// norm that is not finite leaves the gradient as it is.
double clip_global_norm(ParameterStore& store, double max_norm);

}  // namespace bicrl
