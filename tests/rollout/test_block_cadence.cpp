// Blocks that end together: who begins when, and what it saves.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rollout/block_cadence.h"
#include "tests/rollout/tiny_decoding.h"

namespace bicrl {
namespace {

using namespace testing;

// Of each forward: prompt rows, blocks that are denoised, and how many of these commit the block before.
struct SeenForward {
  int64_t prompts = 0, denoised = 0, committing = 0;
};
std::vector<SeenForward> seen;

struct WatchedStep : DenoiseStep {
  explicit WatchedStep(std::unique_ptr<DenoiseStep> step) : inner(std::move(step)) {}
  static std::unique_ptr<DenoiseStep> make(const Transformer& policy, const at::Tensor& allowed,
                                           const EngineCapacity& capacity, KvCache& cache,
                                           StepBuffer& buffer) {
    return std::make_unique<WatchedStep>(make_denoise_step(policy, allowed, capacity, cache, buffer));
  }
  void open(const DecodingSettings& settings) override { inner->open(settings); }
  void begin(const StepState& state) override {
    SeenForward& forward = seen.emplace_back();
    forward.denoised = state.blocks();
    for (const CachedSegment& segment : state.segments()) {
      if (segment.store_rows == segment.rows)
        forward.prompts += segment.rows;
      else
        forward.committing += segment.store_rows > 0;
    }
    inner->begin(state);
  }
  bool expect(const StepBound& bound) override { return inner->expect(bound); }
  StepResult finish() override { return inner->finish(); }
  void cancel() override { inner->cancel(); }
  std::unique_ptr<DenoiseStep> inner;
};

// Forwards behind the last prompt's first block in which some sequences commit and others do not.
int64_t mixed_forwards(const DecodingSettings& settings, std::vector<Rollout>& rollouts) {
  const Transformer policy = tiny_policy(tiny_config());
  auto requests = make_requests(/*prompts=*/9, /*samples=*/2);
  rollouts.assign(requests.size(), {});
  DecodeEngine engine(policy, tiny_tokenizer(), WatchedStep::make);
  seen.clear();
  engine.generate(settings, requests, 9,
                  [&](size_t i, Rollout rollout) { rollouts[i] = std::move(rollout); });
  const auto last_prompt =
      std::find_if(seen.rbegin(), seen.rend(), [](const SeenForward& f) { return f.prompts > 0; });
  REQUIRE(last_prompt != seen.rend());
  const auto begin = seen.end() - (last_prompt - seen.rbegin()) + policy.config().block_size;
  return std::count_if(begin, seen.end(),
                       [&](const SeenForward& f) { return f.committing > 0 && f.committing < f.denoised; });
}

}  // namespace

TEST_CASE("sequences whose prompts come one after the other end their blocks together", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 24;
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
  settings.prefill_tokens = 8;  // a forward or two for each prompt
  settings.denoise_steps = GENERATE(0, 2, 3);
  std::vector<Rollout> rollouts, alone;
  CHECK(mixed_forwards(settings, rollouts) == 0);
  CHECK(std::ranges::any_of(seen, [](const SeenForward& f) { return f.committing > 1; }));
  // Where blocks take as many forwards as their confidences say, nobody waits for anybody.
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  settings.acceptance.threshold = 0.3;
  CHECK(mixed_forwards(settings, alone) > 0);
}

TEST_CASE("nobody waits longer than a block takes, and who begins ends with the others") {
  DecodingSettings settings;
  settings.acceptance.strategy = AcceptanceStrategy::kSequential;
  settings.denoise_steps = GENERATE(1, 3, 4, 8, 0);
  settings.fused_commit = GENERATE(true, false);
  constexpr int64_t kBlock = 8;
  const int64_t steps = settings.denoise_steps == 0 ? kBlock : settings.denoise_steps,
                period = steps + (settings.fused_commit ? 0 : 1);
  BlockCadence cadence(settings, kBlock);
  CHECK(cadence.steps_of(kBlock) == steps);
  cadence.restart(kBlock);
  for (int64_t forward = 0; forward < 3 * period; ++forward) {
    // The first sequence's blocks end when a multiple of the period, less its commit, has passed.
    for (int64_t masked = 1; masked <= kBlock; ++masked)
      CHECK(cadence.may_begin(masked) == ((forward + cadence.steps_of(masked)) % period == steps % period));
    cadence.advance();
  }
  settings.acceptance.strategy = AcceptanceStrategy::kEntropyBounded;
  BlockCadence free(settings, kBlock);
  free.advance();
  CHECK(free.may_begin(1));
}

}  // namespace bicrl
