// Blocks that end together: who begins when, and what it saves.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rollout/decoding/block_aligner.h"
#include "tests/rollout/forwarded_step.h"
#include "tests/rollout/tiny_decoding.h"

namespace bicrl {
namespace {

using namespace testing;

// Of each forward: prompt rows, blocks that are denoised, and how many of these commit the block before.
struct SeenForward {
  int64_t prompts = 0, denoised = 0, committing = 0;
};
std::vector<SeenForward> seen;

struct WatchedStep : ForwardedStep {
  using ForwardedStep::ForwardedStep;
  void begin(const StepState& state) override {
    SeenForward& forward = seen.emplace_back();
    forward.denoised = state.blocks();
    for (const CachedSegment& segment : state.segments()) {
      if (segment.store_rows == segment.rows)
        forward.prompts += segment.rows;  // or a block that is committed by itself
      else
        forward.committing += segment.store_rows > 0;
    }
    inner->begin(state);
  }
};

// Forwards behind the last prompt's first block in which some sequences commit and others do not.
int64_t mixed_forwards(const DecodingSettings& settings) {
  const Transformer policy = tiny_policy(tiny_config());
  DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<WatchedStep>);
  seen.clear();
  engine.generate(settings, make_requests(/*prompts=*/9, /*samples=*/2), 9, [](size_t, const Rollout&) {});
  const auto last_prompt =
      std::find_if(seen.rbegin(), seen.rend(), [](const SeenForward& f) { return f.prompts > 0; });
  REQUIRE(last_prompt != seen.rend());
  const auto begin = seen.end() - (last_prompt - seen.rbegin()) + policy.config().block_size;
  REQUIRE(begin < seen.end());
  return std::count_if(begin, seen.end(),
                       [&](const SeenForward& f) { return f.committing > 0 && f.committing < f.denoised; });
}

}  // namespace

TEST_CASE("sequences whose prompts come one after the other end their blocks together", "[decode_engine]") {
  DecodingSettings settings;
  settings.max_new_tokens = 64;  // so that nobody ends before all have begun
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
  settings.prefill_tokens = 8;  // a forward or two for each prompt
  settings.denoise_steps = GENERATE(0, 2, 3);
  CHECK(mixed_forwards(settings) == 0);
  CHECK(std::ranges::any_of(seen, [](const SeenForward& f) { return f.committing > 1; }));
  // Where blocks take as many forwards as their confidences say, nobody waits for anybody.
  settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceDynamic;
  settings.acceptance.threshold = 0.3;
  CHECK(mixed_forwards(settings) > 0);
}

TEST_CASE("who begins ends his first block with the others, until a place becomes free") {
  DecodingSettings settings;
  settings.acceptance.strategy = AcceptanceStrategy::kSequential;
  settings.denoise_steps = 3;
  settings.fused_commit = GENERATE(true, false);
  BlockAligner aligner(settings, /*block_size=*/8);  // 3, 3 and 2 positions
  const int64_t steps[] = {1, 1, 1, 2, 2, 2, 3, 3};
  for (int64_t masked = 1; masked <= 8; ++masked) CHECK(aligner.steps_of(masked) == steps[masked - 1]);
  aligner.restart(8);
  // Masked positions of those who may begin in each forward; a commit by itself is one of a block's forwards.
  using Beginners = std::vector<std::vector<int64_t>>;
  const std::vector<int64_t> three{7, 8}, two{4, 5, 6}, one{1, 2, 3};
  const Beginners wanted = settings.fused_commit ? Beginners{three, two, one, three, two, one}
                                                 : Beginners{three, two, one, {}, three, two, one, {}};
  for (const auto& expected : wanted) {
    std::vector<int64_t> found;
    for (int64_t masked = 1; masked <= 8; ++masked)
      if (aligner.may_begin(masked)) found.push_back(masked);
    CHECK(found == expected);
    aligner.advance();
  }
  aligner.advance();
  CHECK_FALSE(aligner.may_begin(8));
  aligner.end_filling();
  CHECK(aligner.may_begin(8));
  aligner.restart(1);
  CHECK_FALSE(aligner.may_begin(8));
  // Where more than a quota may be accepted, blocks end when they do.
  settings.acceptance.strategy = AcceptanceStrategy::kEntropyBounded;
  BlockAligner free(settings, 8);
  free.restart(1);
  CHECK(free.may_begin(8));
}

TEST_CASE("requests of any length through a small pool are what they are alone, in step or not",
          "[decode_engine]") {
  const int64_t block_size = GENERATE(4, 8);
  const Transformer policy = tiny_policy(tiny_config({7, 70}, block_size));
  DecodingSettings settings;
  settings.acceptance.strategy = GENERATE(AcceptanceStrategy::kLowConfidenceStatic,
                                          AcceptanceStrategy::kSequential, AcceptanceStrategy::kRandom);
  settings.fused_commit = GENERATE(true, false);
  settings.denoise_steps = GENERATE(0, 1, 3);
  settings.prefill_tokens = 8;
  settings.max_active = 3;
  auto requests = make_requests(/*prompts=*/7, /*samples=*/2, /*first_length=*/1);
  for (size_t i = 0; i < requests.size(); ++i)
    requests[i].max_new_tokens = 1 + static_cast<int64_t>(7 * i % 24);
  std::vector<Rollout> together(requests.size());
  DecodeEngine engine(policy, tiny_tokenizer(), make_forwarded<WatchedStep>);
  seen.clear();
  engine.generate(settings, requests, 9,
                  [&](size_t i, Rollout rollout) { together[i] = std::move(rollout); });
  CHECK(std::ranges::all_of(seen,
                            [](const SeenForward& f) { return f.prompts + f.denoised + f.committing > 0; }));
  for (size_t i = 0; i < requests.size(); ++i) {
    INFO("request " << i);
    Rollout alone;
    engine.generate(settings, {requests[i]}, 9, [&](size_t, Rollout rollout) { alone = std::move(rollout); });
    CHECK(identical(alone, together[i]));
  }
}

}  // namespace bicrl
