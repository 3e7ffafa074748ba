#include "policy/attention/attention_tiles.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/error.h"
#include "policy/attention/attention_plan.h"

namespace bicrl {
namespace {

// A list of pages and the rows that look at it.
struct Stretch {
  int32_t first_row = 0, end_row = 0;
  int32_t first_page = 0;
  int32_t base = 0;
  int32_t keys = -1;  // all rows see this many; -1: as their limits say
};

// That of a prompt comes before those of the segments that extend it.
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

struct Cut {
  std::vector<AttentionTile> wide, of_warps;
  std::vector<int32_t> shares;  // of each row

  int64_t all_shares() const { return std::accumulate(shares.begin(), shares.end(), int64_t{0}); }
};

// Of its rows before `end_row`; limits ascend within a segment.
int64_t keys_of(const AttentionPlan& plan, const Stretch& s, int32_t end_row) {
  return s.keys >= 0 ? s.keys : plan.key_limits[static_cast<size_t>(end_row - 1)] - s.base;
}

bool is_wide(const AttentionPlan& plan, const Stretch& s, const TileLimits& limits) {
  const int64_t rows = s.end_row - s.first_row;
  return rows > 2 * limits.warp_rows ||
         (rows > limits.warp_rows && keys_of(plan, s, s.end_row) > limits.keys / 2);
}

void cut_stretch(const AttentionPlan& plan, const Stretch& s, int64_t rows_at_most, int64_t tile_keys,
                 std::vector<int32_t>& shares, std::vector<AttentionTile>& tiles) {
  const auto tile_rows = static_cast<int32_t>(rows_at_most);
  for (int32_t row = s.first_row; row < s.end_row; row += tile_rows) {
    const int32_t rows = std::min(tile_rows, s.end_row - row);
    const int64_t keys = keys_of(plan, s, row + rows);
    int32_t ordinal = shares[static_cast<size_t>(row)];
    for (int64_t key = 0, end = 0; key < keys; key = end) {
      // What is left over and no half of a tile is not worth shares of its own.
      end = keys - key <= tile_keys + tile_keys / 2 ? keys : key + tile_keys;
      tiles.push_back(
          {row, rows, s.first_page, static_cast<int32_t>(key), static_cast<int32_t>(end), s.base, ordinal++});
    }
    std::fill_n(shares.begin() + row, rows, ordinal);
  }
}

Cut cut(const AttentionPlan& plan, const std::vector<Stretch>& stretches, const TileLimits& limits,
        int64_t warp_keys, int64_t wide_keys) {
  Cut made;
  made.shares.assign(static_cast<size_t>(plan.rows()), 0);
  for (const Stretch& s : stretches) {
    if (is_wide(plan, s, limits))
      cut_stretch(plan, s, limits.rows, wide_keys, made.shares, made.wide);
    else
      cut_stretch(plan, s, limits.warp_rows, warp_keys, made.shares, made.of_warps);
  }
  return made;
}

void sort_by_cost(std::vector<AttentionTile>& tiles) {
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const AttentionTile& a, const AttentionTile& b) { return a.cost() > b.cost(); });
}

}  // namespace

void AttentionTiles::make(const AttentionPlan& plan, const TileLimits& limits) {
  BICRL_CHECK(limits.rows > 0 && limits.keys > 0 && limits.shares >= 2 * plan.rows(), "tiles of ",
              limits.rows, " rows, ", limits.keys, " keys, and ", limits.shares, " shares");
  BICRL_CHECK(limits.keys % plan.page_tokens == 0, "tiles of ", limits.keys, " keys, pages of ",
              plan.page_tokens);
  BICRL_CHECK((limits.few == 0 || limits.least_keys > 0) &&
                  (limits.few_of_warps == 0 || limits.least_keys_of_warps > 0),
              "tiles are halved without end");
  const std::vector<Stretch> stretches = stretches_of(plan);
  int64_t keys = limits.keys;
  Cut made = cut(plan, stretches, limits, keys, keys);
  while (made.all_shares() > limits.shares) {
    keys *= 2;
    made = cut(plan, stretches, limits, keys, keys);
  }
  int64_t warp_keys = keys, wide_keys = keys;
  const auto halve = [&](const std::vector<AttentionTile> Cut::*kind, int64_t& its_keys, int64_t few,
                         int64_t least) {
    while (!(made.*kind).empty() && std::ssize(made.*kind) <= few && its_keys / 2 >= least &&
           its_keys / 2 % plan.page_tokens == 0) {
      const int64_t whole = std::exchange(its_keys, its_keys / 2);
      Cut halved = cut(plan, stretches, limits, warp_keys, wide_keys);
      if (halved.all_shares() > limits.shares) {
        its_keys = whole;
        return;
      }
      made = std::move(halved);
    }
  };
  halve(&Cut::wide, wide_keys, limits.few, limits.least_keys);
  halve(&Cut::of_warps, warp_keys, limits.few_of_warps, limits.least_keys_of_warps);
  sort_by_cost(made.wide);
  sort_by_cost(made.of_warps);
  wide = std::ssize(made.wide);
  tiles = std::move(made.wide);
  tiles.insert(tiles.end(), made.of_warps.begin(), made.of_warps.end());
  first_share.assign(1, 0);
  for (const int32_t shares_of_row : made.shares) first_share.push_back(first_share.back() + shares_of_row);
}

}  // namespace bicrl
