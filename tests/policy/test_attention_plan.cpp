// The plan of a forward's attention: block table, key limits, shared prompts.
#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "policy/attention/attention_planner.h"

namespace bicrl {
namespace {

PolicyConfig one_layer_config() {
  PolicyConfig c;
  c.layers = 1;
  c.heads = c.kv_heads = 1;
  c.head_dim = 4;
  return c;
}

template <class T>
std::vector<int64_t> list(std::span<const T> values) {
  return {values.begin(), values.end()};
}

using List = std::vector<int64_t>;

}  // namespace

TEST_CASE("a plan has each row's limit, each segment's pages, and each shared prompt once",
          "[attention_plan]") {
  KvCache cache(one_layer_config(), 12, at::kCPU, at::kFloat);
  StepBuffer buffer(at::kCPU);
  AttentionPlanner planner(4, 64, cache, buffer);
  buffer.allocate();
  const auto prompt = cache.reserve(20).value();         // pages 0 and 1
  const auto first = cache.reserve(24, prompt).value();  // 2 and 3
  const auto alone = cache.reserve(8).value();           // 4
  const auto second = cache.reserve(8, prompt).value();  // 5
  cache.mark_stored(prompt, 20);
  cache.mark_stored(first, 12);
  // A commit with the denoising of the next block, a prompt's chunk, and a block.
  const AttentionPlan& plan = planner.plan({{first, 32, 8, 4}, {alone, 0, 8, 8}, {second, 20, 4, 0}});
  CHECK(plan.rows() == 20);
  CHECK(plan.segments() == 3);
  CHECK(list(plan.first_rows) == List{0, 8, 16, 20});
  CHECK(list(plan.positions.first(9)) == List{32, 33, 34, 35, 36, 37, 38, 39, 0});
  CHECK(list(plan.key_limits) ==
        List{36, 36, 36, 36, 40, 40, 40, 40, 4, 4, 4, 4, 8, 8, 8, 8, 24, 24, 24, 24});
  // Position 32 is the first one's twelfth own token, 36 its sixteenth, which begins another page.
  CHECK(plan.write_rows[0] == 2 * 16 + 12);
  CHECK(plan.write_rows[4] == 3 * 16);
  CHECK(list(plan.first_pages) == List{0, 2, 3, 4});
  CHECK(list(plan.pages) == List{2, 3, 4, 5});
  CHECK(list(plan.segment_prompt) == List{0, -1, 0});
  CHECK(list(plan.first_prompt_pages) == List{0, 2});
  CHECK(list(plan.prompt_pages) == List{0, 1});
  CHECK(list(plan.prompt_tokens) == List{20});
  CHECK(plan.prompt_tokens_of(2) == 20);
  CHECK(plan.prompt_tokens_of(1) == 0);
  // The next plan has forgotten it; what is too much is refused.
  CHECK(planner.plan({{alone, 0, 4, 0}}).rows() == 4);
  CHECK(plan.prompt_tokens.empty());
  const auto large = cache.reserve(80).value();
  CHECK_THROWS_AS(planner.plan({{large, 0, 80, 80}}), Error);
}

}  // namespace bicrl
