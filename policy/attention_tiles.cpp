#include "policy/attention_tiles.h"

#include <algorithm>
#include <limits>

#include "common/error.h"
#include "policy/attention_plan.h"

namespace bicrl {
namespace {

// A list of pages and the rows that look at it.
struct Stretch {
  int32_t first_row = 0, end_row = 0;
  int32_t first_page = 0;
  int32_t base = 0;
  int32_t keys = -1;  // all rows see this many; -1: as their limits say
};

std::vector<Stretch> stretches_of(const AttentionPlan& plan) {
  std::vector<Stretch> found;
  const auto segments = static_cast<size_t>(plan.segments());
  for (size_t first = 0; first < segments;) {
    size_t end = first + 1;
    const int32_t prompt = plan.segment_prompt[first];
    while (end < segments && plan.segment_prompt[end] == prompt) ++end;
    if (prompt >= 0) {
      const auto p = static_cast<size_t>(prompt);
      const auto first_page = static_cast<int32_t>(plan.pages.size()) + plan.first_prompt_pages[p];
      found.push_back({plan.first_rows[first], plan.first_rows[end], first_page, 0, plan.prompt_tokens[p]});
    }
    first = end;
  }
  for (size_t s = 0; s < segments; ++s)
    found.push_back({plan.first_rows[s], plan.first_rows[s + 1], plan.first_pages[s],
                     static_cast<int32_t>(plan.prompt_tokens_of(static_cast<int64_t>(s))), -1});
  return found;
}

// Returns how many shares they have: those of a row do not depend on the rows beside it.
int64_t cut(const AttentionPlan& plan, const std::vector<Stretch>& stretches, int64_t rows_at_most,
            int64_t tile_keys, std::vector<AttentionTile>& tiles) {
  const auto tile_rows = static_cast<int32_t>(rows_at_most);
  tiles.clear();
  int64_t share = 0;
  for (const Stretch& s : stretches) {
    for (int32_t row = s.first_row; row < s.end_row; row += tile_rows) {
      const int32_t rows = std::min(tile_rows, s.end_row - row);
      // Limits ascend within a segment.
      const int64_t keys =
          s.keys >= 0 ? s.keys : plan.key_limits[static_cast<size_t>(row + rows - 1)] - s.base;
      for (int64_t key = 0, end = 0; key < keys; key = end, share += rows) {
        // What is left over and no half of a tile is not worth shares of its own.
        end = keys - key <= tile_keys + tile_keys / 2 ? keys : key + tile_keys;
        tiles.push_back({row, rows, s.first_page, static_cast<int32_t>(key), static_cast<int32_t>(end),
                         s.base, static_cast<int32_t>(share)});
      }
    }
  }
  return share;
}

}  // namespace

void AttentionTiles::make(const AttentionPlan& plan, const TileLimits& limits) {
  BICRL_CHECK(limits.rows > 0 && limits.keys > 0 && limits.shares >= 2 * plan.rows(), "tiles of ",
              limits.rows, " rows, ", limits.keys, " keys, and ", limits.shares, " shares");
  BICRL_CHECK(limits.keys % plan.page_tokens == 0, "tiles of ", limits.keys, " keys, pages of ",
              plan.page_tokens);
  const std::vector<Stretch> stretches = stretches_of(plan);
  int64_t tile_keys = limits.keys;
  while (cut(plan, stretches, limits.rows, tile_keys, tiles) > limits.shares) tile_keys *= 2;
  const auto tall =
      std::ranges::count_if(tiles, [&](const auto& tile) { return tile.rows > limits.rows / 2; });
  if (limits.rows > 1 && tall > 0 && tall <= limits.few)
    cut(plan, stretches, limits.rows / 2, tile_keys, tiles);
  const auto rows = static_cast<size_t>(plan.rows());
  first_share.assign(rows + 1, 0);
  for (const AttentionTile& tile : tiles)
    for (int32_t i = 0; i < tile.rows; ++i) ++first_share[static_cast<size_t>(tile.first_row + i) + 1];
  for (size_t r = 0; r < rows; ++r) first_share[r + 1] += first_share[r];
  shares.resize(static_cast<size_t>(first_share[rows]));
  std::vector<int32_t> next(first_share.begin(), first_share.end() - 1);
  for (const AttentionTile& tile : tiles)
    for (int32_t i = 0; i < tile.rows; ++i)
      shares[static_cast<size_t>(next[static_cast<size_t>(tile.first_row + i)]++)] = tile.first_share + i;
  // Behind the shares, whose order is that in which a row's are summed up.
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const AttentionTile& a, const AttentionTile& b) { return a.cost() > b.cost(); });
}

}  // namespace bicrl
