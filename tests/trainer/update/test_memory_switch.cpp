// A colocated rank generates, trains, generates again: what it holds between the two does not grow.
#include <ATen/ATen.h>

#include "policy/distribution.h"
#include "rollout/decoding/decode_engine.h"
#include "tests/trainer/counting_allocator.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "tests/trainer/small_steps.h"
#include "trainer/update/policy_updater.h"
// Torch before Catch2.
#include <catch2/catch_test_macros.hpp>
#include <set>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr int kSwitchSteps = 200;

// Of all ranks together, by step.
struct Held {
  std::vector<int64_t> after_generation, after_update, peak;  // bytes
};

// The same work in every step: the policy does not move, so that each response has the length of before.
Held held_over_steps(int ranks, int64_t sharding_stage) {
  Held held;
  on_ranks(ranks, [&](ControlPlane& control, TensorPlane& tensors) {
    Transformer trained = Transformer::random(policy().config(), 3, at::kCPU, at::kFloat);
    UpdaterSettings settings;
    settings.learning_rate.peak = 0;
    PolicyUpdater updater(trained, allowed_ids(trained.config(), tokenizer().size(), at::kCPU), settings,
                          control, tensors, Sharding{sharding_stage});
    DecodeEngine engine(trained, tokenizer());
    GenerationRequest request;
    request.prompt_tokens = {1, 2, 3, 4, 5};
    // Where all ranks have come to; none goes on before it is noted.
    std::optional<CountedMemory> memory;
    if (control.rank() == 0) memory.emplace();
    const auto note = [&](std::vector<int64_t> Held::*moment) {
      control.barrier();
      if (control.rank() == 0) (held.*moment).push_back(memory->now_bytes());
      control.barrier();
    };
    control.barrier();
    for (int step = 0; step < kSwitchSteps; ++step) {
      std::vector<Experience> experiences(1);
      experiences[0].group = control.rank();
      experiences[0].advantage = 1;
      engine.generate(decoding(), {request}, step,
                      [&](size_t, Rollout rollout) { experiences[0].rollout = std::move(rollout); });
      note(&Held::after_generation);
      engine.release_memory();
      updater.reinforce(experiences, all_gather_lists(control, shares_of(experiences)));
      note(&Held::after_update);
      if (control.rank() != 0) continue;
      held.peak.push_back(memory->peak_bytes());
      memory->restart_peak();
    }
    control.barrier();
  });
  return held;
}

bool constant_from_second(const std::vector<int64_t>& bytes) {
  return std::set<int64_t>(bytes.begin() + 1, bytes.end()).size() == 1;
}

}  // namespace

TEST_CASE("200 turns between generation and training hold no byte more than the second") {
  const Held alone = held_over_steps(1, 0);
  CHECK(alone.after_update.size() == kSwitchSteps);
  CHECK(constant_from_second(alone.after_generation));
  CHECK(constant_from_second(alone.after_update));
  CHECK(constant_from_second(alone.peak));
  CHECK(alone.peak.back() > alone.after_update.back());
  // Parameters are freed and gathered in every step; which rank is where at a peak is the scheduler's affair.
  const Held sharded = held_over_steps(2, 3);
  CHECK(constant_from_second(sharded.after_generation));
  CHECK(constant_from_second(sharded.after_update));
}
