// Plan of the keys that the rows of one forward attend to, apart from how attention over them is computed. It
// holds positions, the limit of each row's keys, the block table, and the prompts that several sequences
// share (a cascade's upper level). Free of torch: plain integers in arrays that somebody else owns. A backend
// (cached_attention.h) runs it.
#pragma once
#include <cstdint>
#include <span>

namespace bicrl {

// T rows, in order, are S segments of consecutive rows of one sequence each. A sequence's keys are those of
// the shared prompt that it extends, if any, and behind them its own; either kind begins on a page of its
// own. A row sees its sequence's positions below its limit: those before its segment, and the segment's own
// up to the end of the row's block. Rows of one block have one limit, so a backend without masks may take
// each block as a ragged entry of its own; limits of a segment that extends a prompt all lie behind the
// prompt.
struct AttentionPlan {
  int64_t page_tokens = 0;
  std::span<const int64_t> positions;       // [T] absolute
  std::span<const int64_t> key_limits;      // [T] absolute
  std::span<const int64_t> write_rows;      // [T] row of the pool that takes the row's key and value
  std::span<const int32_t> first_rows;      // [S + 1]
  std::span<const int32_t> first_pages;     // [S + 1] into pages: those of the segment's own keys
  std::span<const int32_t> pages;           // up to the segment's end
  std::span<const int32_t> segment_prompt;  // [S] the prompt that it extends; -1: none
  // Each prompt once. For neighbouring segments that extend the same one it may be read once for all their
  // rows.
  std::span<const int32_t> first_prompt_pages;  // [P + 1] into prompt_pages
  std::span<const int32_t> prompt_pages;
  std::span<const int32_t> prompt_tokens;  // [P]

  int64_t rows() const { return static_cast<int64_t>(positions.size()); }
  int64_t segments() const { return static_cast<int64_t>(segment_prompt.size()); }
  // Positions before a segment's own part.
  int64_t prompt_tokens_of(int64_t segment) const {
    const int32_t prompt = segment_prompt[static_cast<size_t>(segment)];
    return prompt < 0 ? 0 : prompt_tokens[static_cast<size_t>(prompt)];
  }
};

}  // namespace bicrl
