// Clipping and AdamW where the state lies, for devices that have kernels for it: two passes over flat
// buffers, the second of which also zeroes the gradient, and nobody waits for the norm. Refers to the store,
// which must outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "policy/parameters/parameter_store.h"
#include "trainer/ranks/control_plane.h"

namespace bicrl {

// The numbers of one step.
struct AdamWNumbers {
  double learning_rate = 0, beta1 = 0, beta2 = 0, eps = 0;
  double decay = 0;                         // the learning rate times the weight decay
  double correction1 = 0, correction2 = 0;  // of the moments
};

// Flat, of the same values.
struct AdamWState {
  at::Tensor policy;  // undefined where `master` is the policy
  at::Tensor master, gradient, first, second;
};

class FusedOptimizer {
 public:
  struct Outcome {
    double norm = 0;            // of the gradient, before clipping
    bool is_finite = true;      // else nothing was stepped
    double largest_weight = 0;  // of what was stepped, in magnitude; infinite if one is no number
  };
  virtual ~FusedOptimizer() = default;
  // Finds the norm over all ranks and what the gradient is clipped by (clip_global_norm in gradients.h). Only
  // a gradient that ranks share out is waited for. Collective.
  virtual void measure(double max_norm, PartExtent summed, ControlPlane& control) = 0;
  // After measure(): steps, unless the norm is not finite, and zeroes the gradient.
  virtual void step(const AdamWState& state, const AdamWNumbers& numbers) = 0;
  // After the last step().
  virtual void finish() = 0;
  // Of what finish() ended last; waits until the device has come that far, and no longer.
  virtual Outcome outcome() = 0;
};

// Null where there are no kernels.
std::unique_ptr<FusedOptimizer> make_fused_optimizer(ParameterStore& store);

}  // namespace bicrl
