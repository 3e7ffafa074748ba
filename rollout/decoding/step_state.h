// Inputs of one forward of a decode engine, beside its attention plan: tokens, rows to sample for, and values
// that each sample depends on. Arrays of fixed capacity in the step's buffer, filled on the host from step to
// step. Refers to the buffer; not thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/attention/attention_planner.h"
#include "policy/attention/step_buffer.h"

namespace bicrl {

class StepState {
 public:
  // At most `max_rows` rows and `max_blocks` blocks that are denoised.
  StepState(int64_t block_size, int64_t max_rows, int64_t max_blocks, StepBuffer& buffer);

  void clear();
  // tokens: [segment.rows].
  void add_segment(const CachedSegment& segment, const int64_t* tokens);
  // The last block of the segment just added is denoised with this quota; follow with its masked positions.
  void begin_block(int64_t quota);
  // `uniform` draws the token, `lot` is for the random strategy.
  void add_masked(int64_t offset, double uniform, double lot);

  const std::vector<CachedSegment>& segments() const { return segments_; }
  int64_t blocks() const { return quotas.size(); }
  int64_t masked() const { return cells.size(); }

  StepArray<int64_t> tokens;     // [rows]
  StepArray<int64_t> quotas;     // [blocks]
  StepArray<int64_t> head_rows;  // [masked], packed rows
  StepArray<int64_t> cells;      // [masked], block * block_size + offset
  StepArray<double> uniforms;    // [masked]
  StepArray<float> lots;         // [masked]

 private:
  int64_t block_size_;
  std::vector<CachedSegment> segments_;
};

}  // namespace bicrl
