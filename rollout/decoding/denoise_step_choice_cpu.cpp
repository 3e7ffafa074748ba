#include "rollout/decoding/operator_step.h"

namespace bicrl {

std::unique_ptr<DenoiseStep> make_denoise_step(const Transformer& policy, const at::Tensor& allowed,
                                               const EngineCapacity& capacity, KvCache& cache,
                                               StepBuffer& buffer) {
  return OperatorStep::make(policy, allowed, capacity, cache, buffer);
}

StepMemory denoise_step_memory(const PolicyConfig& config, at::Device, c10::ScalarType dtype,
                               const EngineCapacity& capacity) {
  return OperatorStep::memory(config, dtype, capacity);
}

void require_recordable(const PolicyConfig&, at::Device, c10::ScalarType, const DecodingSettings&) {}

}  // namespace bicrl
