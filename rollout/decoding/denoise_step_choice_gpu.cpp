#include <mutex>

#include "common/log.h"
#include "policy/gpu/paged_attention/paged_forward.h"
#include "policy/gpu/pass/gpu_pass_operations.h"
#include "rollout/decoding/operator_step.h"
#include "rollout/gpu/graph_step.h"

namespace bicrl {

std::unique_ptr<DenoiseStep> make_denoise_step(const Transformer& policy, const at::Tensor& allowed,
                                               const EngineCapacity& capacity, KvCache& cache,
                                               StepBuffer& buffer) {
  const PolicyConfig& config = policy.config();
  if (gpu::PagedForward::supports(config, policy.device(), policy.dtype()))
    return std::make_unique<GraphStep>(policy, allowed, capacity, cache, buffer);
  // Ten times as slow, so nobody should have to guess.
  static std::once_flag said;
  if (policy.device().is_cuda())
    std::call_once(said, [] {
      log_warning(
          "this policy is decoded by torch's operators: kernels are for bf16 and a head_dim of 64 or 128");
    });
  return OperatorStep::make(policy, allowed, capacity, cache, buffer);
}

StepMemory denoise_step_memory(const PolicyConfig& config, at::Device device, c10::ScalarType dtype,
                               const EngineCapacity& capacity) {
  return gpu::PagedForward::supports(config, device, dtype) ? GraphStep::memory(config, capacity)
                                                            : OperatorStep::memory(config, dtype, capacity);
}

void require_recordable(const PolicyConfig& config, at::Device device, c10::ScalarType dtype,
                        const DecodingSettings& settings) {
  // Kernels that train a policy score whole distributions alone, also where operators decode it.
  const bool has_kernels = gpu::PagedForward::supports(config, device, dtype) ||
                           gpu::GpuPassOperations::refusal(config, device, dtype).empty();
  if (has_kernels) GraphStep::require_recordable(settings);
}

}  // namespace bicrl
