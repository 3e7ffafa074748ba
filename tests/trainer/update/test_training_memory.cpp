#include "trainer/update/memory/training_memory.h"

#include "tests/trainer/fixtures.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/run/checkpoints/run_state.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// What lies in the store of the first of so many ranks.
TrainingMemory memory_in_use(const PolicyConfig& config, at::ScalarType dtype, Sharding sharding, int ranks,
                             const std::optional<LoraConfig>& lora = {}) {
  TrainingMemory used;
  const auto add = [&](const ParameterStore& store) {
    for (int64_t g = 0; g < store.layout().group_count(); ++g) {
      const auto bytes = [&](ParameterPart part) {
        return store.has(part) ? static_cast<int64_t>(store.group_part(part, g).nbytes()) : 0;
      };
      const at::Tensor whole = store.group_values(g), mine = store.my_values(g);
      used.weights_bytes += static_cast<int64_t>(whole.nbytes());
      if (!mine.storage().is_alias_of(whole.storage()))
        used.weights_bytes += static_cast<int64_t>(mine.nbytes());
      used.gradients_bytes += bytes(ParameterPart::kGradient);
      for (const ParameterPart part :
           {ParameterPart::kMaster, ParameterPart::kFirstMoment, ParameterPart::kSecondMoment})
        used.optimizer_bytes += bytes(part);
    }
  };
  on_ranks(ranks, [&](ControlPlane& control, TensorPlane& tensors) {
    Transformer policy = tiny_policy(config, 5, dtype);
    if (lora) policy.add_adapters(*lora, 5);
    PolicyUpdater updater(policy, tiny_allowed(config), {}, control, tensors, sharding);
    int64_t part_bytes = 0;
    if (const auto file = updater_file(updater, control.rank(), ranks))
      for (const auto& [name, tensor] : file->tensors)
        if (tensor.scalar_type() != at::kLong) part_bytes += static_cast<int64_t>(tensor.nbytes());
    if (control.rank() == 1) used.other_copy_bytes = part_bytes;
    control.barrier();
    if (control.rank() > 0) return;
    used.first_copy_bytes = part_bytes;
    for (const auto& [name, tensor] : policy.parameters())
      used.first_copy_bytes += static_cast<int64_t>(tensor.nbytes());
    if (lora)
      for (const auto& [name, tensor] : policy.trained().values())
        used.first_copy_bytes += static_cast<int64_t>(tensor.nbytes());
    add(policy.store());
    if (lora) add(policy.trained());
  });
  return used;
}

}  // namespace

TEST_CASE("the memory of training is what its tensors take") {
  for (const bool tied : {false, true})
    for (const auto dtype : {at::kFloat, at::kBFloat16})
      for (const int ranks : {1, 2, 4})
        for (int64_t stage = 0; stage < 4; ++stage) {
          INFO("tied " << tied << ", " << dtype << ", " << ranks << " ranks, stage " << stage);
          PolicyConfig config = tiny_config(4);
          config.tie_word_embeddings = tied;
          const TrainingMemory memory = training_memory(config, dtype, Sharding{stage}, ranks);
          const TrainingMemory used = memory_in_use(config, dtype, Sharding{stage}, ranks);
          CHECK(memory.weights_bytes == used.weights_bytes);
          CHECK(memory.gradients_bytes == used.gradients_bytes);
          CHECK(memory.optimizer_bytes == used.optimizer_bytes);
          CHECK((memory.exchange_bytes > 0) == (ranks > 1));
          CHECK((memory.absent_bytes > 0) == (ranks > 1 && stage == 3));
          CHECK(memory.first_copy_bytes == used.first_copy_bytes);
          CHECK(memory.other_copy_bytes >= used.other_copy_bytes);  // shards are padded at the end
          CHECK((memory.other_copy_bytes > 0) == (ranks > 1 && stage > 0));
        }
}

TEST_CASE("with adapters gradients and optimizer are theirs alone") {
  const PolicyConfig config = tiny_config(4);
  for (const auto dtype : {at::kFloat, at::kBFloat16})
    for (const int ranks : {1, 4})
      for (int64_t stage = 0; stage < 4; ++stage) {
        INFO(dtype << ", " << ranks << " ranks, stage " << stage);
        const TrainingMemory memory = training_memory(config, dtype, Sharding{stage}, ranks, tiny_lora());
        const TrainingMemory used = memory_in_use(config, dtype, Sharding{stage}, ranks, tiny_lora());
        CHECK(memory.weights_bytes == used.weights_bytes);
        CHECK(memory.gradients_bytes == used.gradients_bytes);
        CHECK(memory.optimizer_bytes == used.optimizer_bytes);
        const TrainingMemory full = training_memory(config, dtype, Sharding{stage}, ranks);
        CHECK(memory.first_copy_bytes == used.first_copy_bytes);
        CHECK(memory.other_copy_bytes >= used.other_copy_bytes);
        CHECK(memory.optimizer_bytes < full.optimizer_bytes);
        CHECK(memory.exchange_bytes <= full.exchange_bytes);
      }
}

TEST_CASE("each sharding stage needs less of what it divides") {
  PolicyConfig config = tiny_config(4);
  config.layers = 30;
  config.hidden_size = 64;
  const auto memory = [&](int64_t stage) {
    return training_memory(config, at::kBFloat16, Sharding{stage}, 4);
  };
  CHECK(memory(1).optimizer_bytes * 4 == memory(0).optimizer_bytes);
  CHECK(memory(1).gradients_bytes == memory(0).gradients_bytes);
  CHECK(memory(2).gradients_bytes < memory(1).gradients_bytes / 3);
  CHECK(memory(2).total_bytes() < memory(1).total_bytes());
}

TEST_CASE("what does not fit into the host's memory is refused with the numbers") {
  PolicyConfig config = tiny_config(4);
  config.layers = 28;
  config.hidden_size = 2048;
  config.heads = 16;
  config.kv_heads = 8;
  config.head_dim = 128;
  config.intermediate_size = 6144;
  config.vocab_size = 151936;
  config.tie_word_embeddings = true;  // 1.7 B parameters
  const TrainingMemory memory = training_memory(config, at::kBFloat16, {}, 2);
  const int64_t needed = memory.total_bytes() * 2 + memory.copies_bytes(2);
  CHECK(memory_problem(memory, 2, needed).empty());
  CHECK_THAT(memory_problem(memory, 2, needed - 1),
             ContainsSubstring("a checkpoint's copy 24.0") &&
                 ContainsSubstring("run.checkpoint_in_background=false"));
  CHECK_THAT(memory_problem(memory, 2, 64'000'000'000),
             ContainsSubstring("2 ranks need") && ContainsSubstring("of the host's 64 GB") &&
                 ContainsSubstring("weights 3.44") && ContainsSubstring("AdamW 20.6") &&
                 ContainsSubstring("trainer.sharding_stage"));
}
