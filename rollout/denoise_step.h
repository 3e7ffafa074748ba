// One forward of a decoder: packs the rows of all segments, runs the policy, and draws and accepts candidates
// on the device. What comes back to the host is one small copy. Refers to policy, cache and settings; not
// thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/cached_attention.h"
#include "policy/transformer.h"
#include "rollout/decoding_settings.h"

namespace bicrl {

// Rows of one forward, gathered on the host.
class StepRows {
 public:
  explicit StepRows(int64_t block_size) : block_size_(block_size) {}

  // tokens: [segment.rows].
  void add_segment(const CachedSegment& segment, const int64_t* tokens);
  // The last block of the segment just added is denoised with this quota; follow with its masked positions.
  void begin_block(int64_t quota);
  // `uniform` draws the token, `lot` is for the random strategy.
  void add_masked(int64_t offset, double uniform, double lot);

  bool empty() const { return segments.empty(); }

  std::vector<CachedSegment> segments;
  std::vector<int64_t> tokens;     // [rows]
  std::vector<int64_t> quotas;     // [blocks]
  std::vector<int64_t> head_rows;  // [masked], packed rows
  std::vector<int64_t> cells;      // [masked], block * block_size + offset
  std::vector<double> uniforms;    // [masked]
  std::vector<float> lots;         // [masked]

 private:
  int64_t block_size_;
};

// For every masked position of StepRows, in its order.
struct StepResult {
  std::vector<int64_t> tokens;
  std::vector<float> log_probs;
  std::vector<char> accepted;
};

class DenoiseStep {
 public:
  // The head's logits are made in pieces of at most this many values.
  static constexpr int64_t kLogitsAtOnce = int64_t{1} << 25;

  DenoiseStep(const Transformer& policy, const at::Tensor& allowed, const DecodingSettings& settings,
              KvCache& cache);
  StepResult run(const StepRows& rows);

 private:
  Candidates draw(const StepRows& rows, const at::Tensor& hidden) const;
  at::Tensor pick(const StepRows& rows, const at::Tensor& hidden) const;

  const Transformer& policy_;
  at::Tensor allowed_;
  const DecodingSettings& settings_;
  CachedAttention attention_;
};

}  // namespace bicrl
