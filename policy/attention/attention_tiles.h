// An AttentionPlan cut into tiles for a backend that runs them side by side: some rows against some keys of
// one list of pages. A prompt that neighbouring segments extend is a list of its own, whose keys are read
// once for the rows of all of them. Tiles are of two kinds: wide ones, which occupy a block of threads, and
// those of so few rows (a sequence's against its own keys) that one warp does for each. Free of torch; plain
// integers.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl {

struct AttentionPlan;

// Rows [first_row, first_row + rows) against keys [first_key, end_key) of the list of pages that begins at
// `first_page`, whose key 0 stands at the absolute position `base`; first_key is the first of a page. What
// a row makes of them is its share number `ordinal`.
struct AttentionTile {
  int32_t first_row = 0, rows = 0;
  int32_t first_page = 0;
  int32_t first_key = 0, end_key = 0;
  int32_t base = 0;
  int32_t ordinal = 0;

  // How long it takes compared with others of its kind, roughly.
  int64_t cost() const { return int64_t{rows} * (end_key - first_key); }
};

struct TileLimits {
  int64_t rows = 0;  // of a wide tile
  // Of a tile for one warp. Up to twice as many rows with one list are two such if they have few keys (half
  // of `keys`), as both read all of them.
  int64_t warp_rows = 0;
  // Of a tile, whole pages, and up to half as many more of the last one; twice as many, and so on, while
  // there are more shares than room.
  int64_t keys = 0;
  int64_t shares = 0;  // room: two for each row always suffice
  // While there are no more wide tiles than this, their keys are halved, down to `least_keys`, and likewise
  // those of warps: else most processors would wait for a few. 0: never.
  int64_t few = 0, few_of_warps = 0;
  int64_t least_keys = 0, least_keys_of_warps = 0;
};

// Refers to nothing. Not thread-safe.
struct AttentionTiles {
  std::vector<AttentionTile> tiles;  // wide ones first; of either kind, the costliest first
  int64_t wide = 0;                  // so many are wide
  std::vector<int32_t> first_share;  // [rows + 1]: shares of a row lie side by side

  int64_t shares() const { return first_share.empty() ? 0 : first_share.back(); }
  // Tiles refer to pages by their place behind each other: the plan's `pages`, then its `prompt_pages`.
  void make(const AttentionPlan& plan, const TileLimits& limits);
};

}  // namespace bicrl
