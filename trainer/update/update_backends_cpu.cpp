#include "trainer/update/memory/pass_memory.h"
#include "trainer/update/operator_pass.h"
#include "trainer/update/optimizer/fused_optimizer.h"

namespace bicrl {

std::unique_ptr<ScoredPass> make_scored_pass(const Transformer& policy, at::Tensor allowed, Recompute) {
  return std::make_unique<OperatorPass>(policy, std::move(allowed));
}

PassMemory pass_memory(const PolicyConfig& config, const PassShape& shape, const PassSettings& settings) {
  return operator_pass_memory(config, shape, settings);
}

std::unique_ptr<FusedOptimizer> make_fused_optimizer(ParameterStore&) { return nullptr; }

}  // namespace bicrl
