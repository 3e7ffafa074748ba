// A step that does what the engine's own does: for tests that look at what an engine asks of it.
#pragma once
#include <memory>
#include <utility>

#include "rollout/decoding/denoise_step.h"

namespace bicrl::testing {

struct ForwardedStep : DenoiseStep {
  explicit ForwardedStep(std::unique_ptr<DenoiseStep> step) : inner(std::move(step)) {}
  void open(const DecodingSettings& settings) override { inner->open(settings); }
  void begin(const StepState& state) override { inner->begin(state); }
  bool expect(const StepBound& bound) override { return inner->expect(bound); }
  StepResult finish() override { return inner->finish(); }
  void cancel() override { inner->cancel(); }
  std::unique_ptr<DenoiseStep> inner;
};

// Step: a ForwardedStep with the constructor of one.
template <class Step>
std::unique_ptr<DenoiseStep> make_forwarded(const Transformer& policy, const at::Tensor& allowed,
                                            const EngineCapacity& capacity, KvCache& cache,
                                            StepBuffer& buffer) {
  return std::make_unique<Step>(make_denoise_step(policy, allowed, capacity, cache, buffer));
}

}  // namespace bicrl::testing
