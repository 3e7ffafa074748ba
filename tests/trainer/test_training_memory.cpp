#include "trainer/update/training_memory.h"

#include "tests/trainer/fixtures.h"

#include <catch2/catch_test_macros.hpp>

using namespace bicrl;
using namespace bicrl::testing;

TEST_CASE("the memory of training is what its tensors take") {
  for (const bool tied : {false, true})
    for (const auto dtype : {at::kFloat, at::kBFloat16}) {
      PolicyConfig config = tiny_config(4);
      config.tie_word_embeddings = tied;
      Transformer policy = tiny_policy(config, 5, dtype);
      const TrainingMemory memory = training_memory(config, dtype);
      AdamW optimizer(policy.store(), {});
      int64_t weights = 0, gradients = config.parameter_count() * int64_t{sizeof(float)}, state = 0;
      const GradientScope scope(policy.store());
      const auto sequence = rollout_sequence(random_experience(config, {}, 1, 1.0), config, 1);
      const auto batch = pack({sequence}, {1.0}, 4, 1000, at::kCPU).at(0);
      ScoredPass(policy, tiny_allowed(config), 1.0).backward(batch, [](const ScoredChunk& chunk) {
        return chunk.log_probs.sum();
      });
      for (const auto& [name, parameter] : policy.parameters()) {
        weights += static_cast<int64_t>(parameter.nbytes());
        REQUIRE(parameter.grad().defined());
        gradients += static_cast<int64_t>(parameter.grad().nbytes());
      }
      const SavedState saved = optimizer.export_state();
      for (const auto& [name, pieces] : saved.tensors())
        if (name != "step") state += static_cast<int64_t>(pieces.front().values.nbytes());
      CHECK(memory.weights_bytes == weights);
      CHECK(memory.gradients_bytes == gradients);
      CHECK(memory.optimizer_bytes == state);
      CHECK(memory.total_bytes() == weights + gradients + state);
    }
}
