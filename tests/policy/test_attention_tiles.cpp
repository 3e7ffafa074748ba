// Tiles cover what a plan lets each row see, once.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <set>
#include <span>

#include "policy/attention/attention_planner.h"
#include "policy/attention/attention_tiles.h"

namespace bicrl {
namespace {

PolicyConfig config_of(int64_t block_size) {
  PolicyConfig c;
  c.layers = 1;
  c.heads = c.kv_heads = 1;
  c.head_dim = 8;
  c.block_size = block_size;
  return c;
}

// Segments of sequences with and without prompts, some of which are neighbours in a group.
struct Planned {
  explicit Planned(int64_t b)
      : cache(config_of(b), 300, at::kCPU, at::kFloat), buffer(at::kCPU), planner(b, 1024, cache, buffer) {
    buffer.allocate();
    const auto prompt = cache.reserve(31 * b).value(), other = cache.reserve(3 * b).value();
    cache.mark_stored(prompt, 31 * b);
    cache.mark_stored(other, 3 * b);
    const auto add = [&](int64_t own, int64_t blocks, KvCache::SlotId prefix) {
      const auto slot = cache.reserve((own + blocks) * b, prefix).value();
      if (own > 0) cache.mark_stored(slot, own * b);
      segments.push_back({slot, cache.stored_tokens(slot), blocks * b, 0});
    };
    for (int64_t i = 0; i < 7; ++i) add(3 * i, 1 + i % 2, prompt);
    add(0, 40, KvCache::kNoPrefix);
    add(1, 2, other);
    add(5, 1, prompt);  // of the first group, apart from it
    plan = planner.plan(segments);
  }
  KvCache cache;
  StepBuffer buffer;
  AttentionPlanner planner;
  std::vector<CachedSegment> segments;
  AttentionPlan plan;
};

// Rows of the pool that a row of the plan sees, in order.
std::vector<int64_t> seen_by(const AttentionPlan& plan, int64_t segment, int64_t row) {
  const auto s = static_cast<size_t>(segment);
  std::vector<int64_t> seen;
  const auto add = [&](std::span<const int32_t> pages, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      seen.push_back(pages[static_cast<size_t>(first + i / plan.page_tokens)] * plan.page_tokens +
                     i % plan.page_tokens);
  };
  const int64_t prompt_tokens = plan.prompt_tokens_of(segment);
  if (prompt_tokens > 0)
    add(plan.prompt_pages, plan.first_prompt_pages[static_cast<size_t>(plan.segment_prompt[s])],
        prompt_tokens);
  add(plan.pages, plan.first_pages[s], plan.key_limits[static_cast<size_t>(row)] - prompt_tokens);
  return seen;
}

}  // namespace

TEST_CASE("tiles cover each row's keys once and number its shares", "[attention_tiles]") {
  const int64_t b = GENERATE(int64_t{4}, int64_t{16});
  const TileLimits limits = {.rows = GENERATE(int64_t{5}, int64_t{32}),
                             .warp_rows = GENERATE(int64_t{0}, int64_t{3}, int64_t{8}),
                             .keys = 64,
                             .shares = 1 << 20,
                             .few = GENERATE(int64_t{0}, int64_t{1 << 20}),
                             .few_of_warps = GENERATE(int64_t{0}, int64_t{1 << 20}),
                             .least_keys = 32,
                             .least_keys_of_warps = 16};
  const Planned planned(b);
  const AttentionPlan& plan = planned.plan;
  AttentionTiles work;
  work.make(plan, limits);

  std::vector<int32_t> pages(plan.pages.begin(), plan.pages.end());
  pages.insert(pages.end(), plan.prompt_pages.begin(), plan.prompt_pages.end());
  std::vector<std::vector<int64_t>> seen(static_cast<size_t>(plan.rows()));
  std::set<int32_t> numbered;
  const auto first_of_warps = work.tiles.begin() + work.wide;
  for (auto at = work.tiles.begin(); at != work.tiles.end(); ++at) {
    const AttentionTile& tile = *at;
    const bool wide = at < first_of_warps;
    CHECK((tile.rows >= 1 && tile.rows <= (wide ? limits.rows : limits.warp_rows)));
    const int64_t most_keys = wide ? (limits.few > 0 ? limits.least_keys : limits.keys)
                                   : (limits.few_of_warps > 0 ? limits.least_keys_of_warps : limits.keys);
    CHECK((tile.end_key > tile.first_key && tile.end_key - tile.first_key <= most_keys * 3 / 2));
    for (int32_t i = 0; i < tile.rows; ++i) {
      const auto row = static_cast<size_t>(tile.first_row + i);
      const int32_t share = work.first_share[row] + tile.ordinal;
      CHECK(numbered.insert(share).second);
      CHECK((tile.ordinal >= 0 && share < work.first_share[row + 1]));
      for (int32_t key = tile.first_key; key < tile.end_key && tile.base + key < plan.key_limits[row]; ++key)
        seen[row].push_back(pages[static_cast<size_t>(tile.first_page + key / plan.page_tokens)] *
                                plan.page_tokens +
                            key % plan.page_tokens);
    }
  }
  CHECK(std::ssize(numbered) == work.shares());
  const auto costlier = [](const AttentionTile& one, const AttentionTile& other) {
    return one.cost() > other.cost();
  };
  CHECK(std::is_sorted(work.tiles.begin(), first_of_warps, costlier));
  CHECK(std::is_sorted(first_of_warps, work.tiles.end(), costlier));
  for (int64_t s = 0; s < plan.segments(); ++s) {
    for (int64_t row = plan.first_rows[static_cast<size_t>(s)];
         row < plan.first_rows[static_cast<size_t>(s) + 1]; ++row) {
      INFO("segment " << s << ", row " << row);
      auto expected = seen_by(plan, s, row);
      auto& mine = seen[static_cast<size_t>(row)];
      std::sort(expected.begin(), expected.end());
      std::sort(mine.begin(), mine.end());
      CHECK(mine == expected);
    }
  }
}

TEST_CASE("a group's prompt is read once for its neighbouring rows", "[attention_tiles]") {
  const Planned planned(4);
  AttentionTiles work;
  work.make(planned.plan, {.rows = 64, .keys = 1024, .shares = 1 << 20});
  const auto prompt_keys = 31 * 4;
  // Seven members side by side, and one apart.
  CHECK(std::count_if(work.tiles.begin(), work.tiles.end(), [&](const AttentionTile& tile) {
          return tile.base == 0 && tile.end_key == prompt_keys;
        }) == 2);
}

TEST_CASE("a warp's tiles are those of few rows against their own keys", "[attention_tiles]") {
  const Planned planned(4);
  AttentionTiles work;
  work.make(planned.plan, {.rows = 32, .warp_rows = 4, .keys = 1024, .shares = 1 << 20});
  // Six blocks of a second one's rows are halved; what has more than eight rows is wide, and so is the prompt
  // of a group. The other prompt's and the one apart have few rows.
  const auto of_warps = std::ssize(work.tiles) - work.wide;
  std::multiset<int32_t> rows;
  for (int64_t i = work.wide; i < std::ssize(work.tiles); ++i)
    rows.insert(work.tiles[static_cast<size_t>(i)].rows);
  // Of the seven members three have eight rows, the one behind has eight, and the one apart four.
  CHECK(of_warps == 4 + 3 * 2 + 2 * 2 + 2);
  CHECK(rows.count(4) == static_cast<size_t>(of_warps));
  CHECK(work.wide == 2 + 5);  // 40 rows of the group, 160 of a sequence's own

  // Two of those with eight rows have more than 32 keys, which two warps are not to read.
  work.make(planned.plan, {.rows = 32, .warp_rows = 4, .keys = 64, .shares = 1 << 20});
  CHECK(std::ranges::count_if(work.tiles, [](const auto& tile) { return tile.rows == 8 && tile.base > 0; }) ==
        2);
  CHECK(std::ssize(work.tiles) - work.wide == 4 + 2 + 2 * 2 + 3);
}

TEST_CASE("while wide tiles are few their keys are halved, and those of warps are cut as before",
          "[attention_tiles]") {
  const Planned planned(4);
  TileLimits limits = {.rows = 32, .warp_rows = 4, .keys = 128, .shares = 1 << 20, .least_keys = 32};
  AttentionTiles whole, cut;
  const auto longest = [](std::span<const AttentionTile> tiles) {
    int32_t keys = 0;
    for (const AttentionTile& tile : tiles) keys = std::max(keys, tile.end_key - tile.first_key);
    return keys;
  };
  const auto longest_wide = [&](const AttentionTiles& work) {
    return longest(std::span(work.tiles).first(static_cast<size_t>(work.wide)));
  };
  const auto longest_of_warps = [&](const AttentionTiles& work) {
    return longest(std::span(work.tiles).subspan(static_cast<size_t>(work.wide)));
  };
  const auto of_warps = [](const AttentionTiles& work) {
    std::multiset<std::vector<int32_t>> cuts;
    for (auto tile = work.tiles.begin() + work.wide; tile != work.tiles.end(); ++tile)
      cuts.insert({tile->first_row, tile->rows, tile->first_page, tile->first_key, tile->end_key});
    return cuts;
  };
  whole.make(planned.plan, limits);
  REQUIRE(longest_wide(whole) > 96);
  limits.few = whole.wide - 1;
  cut.make(planned.plan, limits);
  CHECK(cut.wide == whole.wide);
  limits.few = whole.wide;  // halved once: then there are more
  cut.make(planned.plan, limits);
  CHECK(cut.wide > whole.wide);
  CHECK(longest_wide(cut) == 96);
  limits.few = 1000;  // down to the least
  cut.make(planned.plan, limits);
  CHECK(longest_wide(cut) <= 48);
  CHECK(of_warps(cut) == of_warps(whole));
  limits.few_of_warps = 1000;
  limits.least_keys_of_warps = 64;
  AttentionTiles all_cut;
  all_cut.make(planned.plan, limits);
  CHECK(all_cut.wide == cut.wide);
  CHECK(longest_of_warps(cut) > 96);
  CHECK(longest_of_warps(all_cut) <= 96);
  limits.few_of_warps = 0;
  limits.shares = cut.shares() - 1;  // no room for the last halving
  AttentionTiles fitting;
  fitting.make(planned.plan, limits);
  CHECK((whole.wide < fitting.wide && fitting.wide < cut.wide));
  CHECK(fitting.shares() <= limits.shares);
  // Nor does that keep those of warps from being halved, if they fit.
  limits.few_of_warps = 1000;
  AttentionTiles both;
  both.make(planned.plan, limits);
  CHECK(both.wide == fitting.wide);
  CHECK(both.shares() <= limits.shares);
  CHECK(longest_of_warps(both) <= 96);
}

TEST_CASE("tiles grow until their shares fit", "[attention_tiles]") {
  const Planned planned(4);
  AttentionTiles wide, narrow;
  wide.make(planned.plan, {.rows = 32, .keys = 16, .shares = 1 << 20});
  const int64_t least = 2 * planned.plan.rows();
  narrow.make(planned.plan, {.rows = 32, .keys = 16, .shares = least});
  CHECK(wide.shares() > least);
  CHECK(narrow.shares() <= least);
}

}  // namespace bicrl
