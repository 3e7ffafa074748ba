#include <mutex>

#include "common/error.h"
#include "common/log.h"
#include "trainer/update/gpu/gpu_optimizer.h"
#include "trainer/update/gpu/kernel_pass.h"
#include "trainer/update/memory/pass_memory.h"
#include "trainer/update/operator_pass.h"

namespace bicrl {

std::unique_ptr<ScoredPass> make_scored_pass(const Transformer& policy, at::Tensor allowed,
                                             Recompute recompute) {
  const std::string refusal = KernelPass::refusal(policy.config(), policy.device(), policy.dtype());
  if (refusal.empty()) return std::make_unique<KernelPass>(policy, std::move(allowed), recompute);
  static std::once_flag said;
  if (policy.device().is_cuda())
    std::call_once(said, [&] {
      log_warning(concat("this policy is trained by torch's operators, about four times as slow: ", refusal));
    });
  return std::make_unique<OperatorPass>(policy, std::move(allowed));
}

PassMemory pass_memory(const PolicyConfig& config, const PassShape& shape, const PassSettings& settings) {
  return KernelPass::refusal(config, at::Device(settings.device), settings.dtype).empty()
             ? KernelPass::memory(config, shape, settings)
             : operator_pass_memory(config, shape, settings);
}

std::unique_ptr<FusedOptimizer> make_fused_optimizer(ParameterStore& store) {
  if (!GpuOptimizer::supports(store)) return nullptr;
  return std::make_unique<GpuOptimizer>(store);
}

}  // namespace bicrl
