// What benches draw in the place of what weights would decide.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <set>

#include "tests/rollout/tiny_decoding.h"

namespace bicrl::testing {
namespace {

using Catch::Matchers::WithinAbs;

// Of tokens that a block's steps accepted, by the step map: how many different steps there are.
int64_t steps_in(const Rollout& rollout, int64_t begin, int64_t end) {
  std::set<int32_t> steps;
  for (int64_t i = begin; i < end; ++i) steps.insert(std::abs(rollout.step_map.at(static_cast<size_t>(i))));
  return std::ssize(steps);
}

}  // namespace

TEST_CASE("drawn lengths and steps have the given median and mean", "[drawn]") {
  const DrawnResponses drawn{.median_tokens = 1000, .steps_per_block = 2};
  constexpr int64_t kDraws = 20000;
  int64_t below = 0, tail = 0, shortest = 1 << 20;
  double steps = 0;
  int64_t of_steps[5] = {};
  for (int64_t i = 0; i < kDraws; ++i) {
    const auto key = static_cast<uint64_t>(i);
    const int64_t tokens = drawn.tokens(key);
    below += tokens < 1000;
    tail += tokens >= 4000;
    shortest = std::min(shortest, tokens);
    const int64_t count = drawn.steps_of_block(key, 4 * i, 4);
    REQUIRE((count >= 1 && count <= 4));
    ++of_steps[count];
    steps += static_cast<double>(count);
  }
  CHECK_THAT(static_cast<double>(below) / kDraws, WithinAbs(0.5, 0.015));
  CHECK_THAT(static_cast<double>(tail) / kDraws, WithinAbs(0.024, 0.005));  // a normal above ln(4) / 0.7
  CHECK(shortest >= 1);
  CHECK_THAT(steps / kDraws, WithinAbs(2, 0.02));
  CHECK_THAT(static_cast<double>(of_steps[1]) / kDraws, WithinAbs(8.0 / 27, 0.015));
  CHECK_THAT(static_cast<double>(of_steps[4]) / kDraws, WithinAbs(1.0 / 27, 0.008));
  CHECK(DrawnResponses{.steps_per_block = 4}.steps_of_block(7, 8, 4) == 4);
  CHECK(DrawnResponses{.steps_per_block = 1}.steps_of_block(7, 8, 4) == 1);
}

TEST_CASE("drawn responses end at their lengths and take their steps, whatever the weights say", "[drawn]") {
  const PolicyConfig config = tiny_config({264});
  const Transformer policy = tiny_policy(config);
  const std::vector<GenerationRequest> requests = make_requests(4, 3);
  DecodingSettings settings;
  settings.max_new_tokens = 60;
  settings.max_active = 5;
  settings.acceptance.threshold = 1;  // this small policy is sure of some tokens
  settings.drawn = DrawnResponses{.median_tokens = 30, .steps_per_block = 2};
  bool is_cut_off = false, ends_by_itself = false;
  const std::vector<Rollout> rollouts = generate(policy, settings, requests);
  for (size_t i = 0; i < requests.size(); ++i) {
    const Rollout& rollout = rollouts[i];
    const uint64_t key = requests[i].key;
    const int64_t tokens = settings.drawn->tokens(key);
    if (tokens < 60) {
      ends_by_itself = true;
      CHECK(rollout.finish == FinishReason::kEndToken);
      CHECK(rollout.scored_tokens() == tokens);
      CHECK_FALSE(rollout.truncated());
    } else if (tokens > 63) {  // beyond the last block, which is always finished
      is_cut_off = true;
      CHECK(rollout.truncated());
      CHECK(rollout.scored_tokens() >= 60);
    }
    const int64_t prompt = rollout.prompt_tokens, end = std::ssize(rollout.tokens);
    for (int64_t block = (prompt + 3) / 4 * 4; block < end; block += 4)
      CHECK(steps_in(rollout, block - prompt, block + 4 - prompt) ==
            settings.drawn->steps_of_block(key, block, 4));
  }
  CHECK(is_cut_off);
  CHECK(ends_by_itself);

  SECTION("and do not depend on what else is decoded") {
    settings.max_active = 1;
    const std::vector<Rollout> alone = generate(policy, settings, {requests[3], requests[10]});
    CHECK(identical(alone[0], rollouts[3]));
    CHECK(identical(alone[1], rollouts[10]));
  }
  SECTION("and keep the quotas of strategies that go by them") {
    settings.acceptance.strategy = AcceptanceStrategy::kLowConfidenceStatic;
    const Rollout rollout = generate(policy, settings, {requests[0]}).front();
    const int64_t prompt = rollout.prompt_tokens, end = std::ssize(rollout.tokens);
    for (int64_t block = (prompt + 3) / 4 * 4; block < end; block += 4)
      CHECK(steps_in(rollout, block - prompt, block + 4 - prompt) == 4);
    CHECK(rollout.scored_tokens() >= std::min<int64_t>(60, settings.drawn->tokens(requests[0].key)));
  }
  SECTION("and clamped ones end as with their delimiter") {
    GenerationRequest request = requests[1];
    request.delimiter = "\n";
    request.clamp_prefix = "p";
    const Rollout rollout = generate(policy, settings, {request}).front();
    REQUIRE(settings.drawn->tokens(request.key) < 60);
    CHECK(rollout.finish == FinishReason::kDelimiter);
    CHECK(rollout.scored_tokens() == settings.drawn->tokens(request.key));
    CHECK_FALSE(rollout.truncated());
  }
}

}  // namespace bicrl::testing
