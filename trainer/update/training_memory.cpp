#include "trainer/update/training_memory.h"

namespace bicrl {

TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype) {
  constexpr int64_t kWide = sizeof(float);
  const auto own = static_cast<int64_t>(c10::elementSize(dtype));
  const int64_t parameters = config.parameter_count();
  const int64_t head = config.vocab_size * config.hidden_size;
  TrainingMemory memory;
  memory.weights_bytes = parameters * own;
  memory.gradients_bytes = parameters * (own + kWide) + head * (kWide - own);
  memory.optimizer_bytes = parameters * (own < kWide ? 3 : 2) * kWide;
  return memory;
}

}  // namespace bicrl
