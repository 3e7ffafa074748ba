// Packing of live sequences into batches of at most a given number of rows, without padding: first who goes
// where, then one batch after the other, each when its turn comes, so that a GPU need not wait for the
// others. Plain data and pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/attention/packed_segment.h"
#include "trainer/update/packing/live_layout.h"

namespace bicrl {

// Rows and scored tokens of one forward and backward pass. Tensors live on one device; their copies to it may
// be under way on the current stream.
struct PackedBatch {
  at::Tensor tokens;     // [rows] int64
  at::Tensor positions;  // [rows] int64, absolute
  std::vector<PackedSegment> segments;
  std::vector<int64_t> host_tokens;  // [rows]
  // One entry per scored token:
  at::Tensor selected;             // [scored] int64, row
  at::Tensor labels;               // [scored] int64
  at::Tensor old_log_probs;        // [scored] fp64
  at::Tensor reference_log_probs;  // [scored] fp64
  at::Tensor advantages;           // [scored] fp64
  at::Tensor weights;              // [scored] fp64
  // Of tokens that exclude ids (ScoredToken): how many; 0: the label was drawn. Undefined: no token does.
  at::Tensor excluded{};  // [scored] int64
  // Excluded ids beyond the labels, by token, ascending, and on the host too. Undefined: there are none.
  at::Tensor other_tokens{}, other_ids{};  // [others] int64
  std::vector<int64_t> host_other_tokens{};
  // The ids that restricted tokens were drawn among (ScoredToken), likewise. Undefined: no token is.
  at::Tensor kept_tokens{}, kept_ids{};  // [kept] int64
  std::vector<int64_t> host_kept_tokens{};

  int64_t rows() const { return tokens.size(0); }
  int64_t scored() const { return selected.size(0); }
};

struct PackSettings {
  int64_t block_size = 4;
  int64_t tokens_per_pack = 8192;  // rows; a longer sequence gets a batch of its own
  at::Device device = at::kCPU;
  // What a pair of a query and a key costs, in rows: as many batches as rows ask for, but of nearly equal
  // cost. 0: every batch is filled before the next is begun.
  double rows_of_pair = 0;
  // Of balanced batches: at least so many, where there are sequences for them, the most expensive one first.
  // For ranks that wait for each other in every pass. 0: in the order of the sequences.
  size_t lockstep_count = 0;
};
// By the products of a layer's rows and of its attention's pairs.
double rows_of_pair(const PolicyConfig& config);

class Packs {
 public:
  struct Extent {
    int64_t rows = 0, scored = 0, pairs = 0;
    int64_t named_ids = 0;  // beside labels: excluded and kept ones (ScoredToken)

    bool contains(const Extent& other) const;  // in each figure
    void extend(const Extent& other);          // to the larger of both, in each figure
  };

  // Sequences in order, those with equal `shared` tokens one after the other as one group (a group that is
  // cut repeats its shared rows); those without a scored token are left out. scales[i] multiplies the weights
  // of sequence i. Refers to both.
  Packs(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales, PackSettings settings);

  size_t count() const { return members_.size(); }
  Extent extent(size_t index) const { return extents_.at(index); }
  Extent largest() const;  // of each figure
  std::vector<PackedSegment> segments(size_t index) const;
  PackedBatch make(size_t index) const;

 private:
  const std::vector<LiveSequence>& sequences_;
  const std::vector<double>& scales_;
  PackSettings settings_;
  std::vector<std::vector<size_t>> members_;  // sequences of each batch
  std::vector<Extent> extents_;
};

// All of them.
std::vector<PackedBatch> pack(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales,
                              const PackSettings& settings);

// Stable order in which sequences with equal `shared` tokens follow one another.
std::vector<size_t> grouped_order(const std::vector<LiveSequence>& sequences);

}  // namespace bicrl
