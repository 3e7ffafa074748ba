// An AttentionPlan cut into tiles of equal work for a backend that runs them side by side: some rows against
// some keys of one list of pages. A prompt that neighbouring segments extend is a list of its own, whose keys
// are read once for the rows of all of them. Where the keys are cut depends on a row's own sequence alone, as
// long as there is room for the shares. Free of torch; plain integers.
#pragma once
#include <cstdint>
#include <vector>

namespace bicrl {

struct AttentionPlan;

// Rows [first_row, first_row + rows) against keys [first_key, end_key) of the list of pages that begins at
// `first_page`, whose key 0 stands at the absolute position `base`; first_key is the first of a page. What
// row first_row + i makes of them is share first_share + i.
struct AttentionTile {
  int32_t first_row = 0, rows = 0;
  int32_t first_page = 0;
  int32_t first_key = 0, end_key = 0;
  int32_t base = 0;
  int32_t first_share = 0;

  // How long it takes compared with others, roughly.
  int64_t cost() const { return int64_t{rows} * (end_key - first_key); }
};

struct TileLimits {
  int64_t rows = 0;  // of a tile
  // Of a tile, whole pages, and up to half as many more of the last one; twice as many, and so on, while
  // there are more shares than room.
  int64_t keys = 0;
  int64_t shares = 0;  // room: two for each row always suffice
  // If no more tiles than this have over half of `rows`, all have at most half of them: such a tile takes as
  // long as many short ones, and most processors would wait for a few.
  int64_t few = 0;
};

// Refers to nothing; its memory is used again by the next make(). Not thread-safe.
struct AttentionTiles {
  std::vector<AttentionTile> tiles;  // the costliest first
  std::vector<int32_t> first_share;  // [rows + 1] into shares
  std::vector<int32_t> shares;       // of each row, one behind the other

  // Tiles refer to pages by their place behind each other: the plan's `pages`, then its `prompt_pages`.
  void make(const AttentionPlan& plan, const TileLimits& limits);
};

}  // namespace bicrl
