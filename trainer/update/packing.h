// Packing of live sequences into batches of at most a given number of rows, without padding.
// Plain data and pure functions; thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/packed_attention.h"
#include "trainer/update/live_layout.h"

namespace bicrl {

// Rows and scored tokens of one forward and backward pass. Tensors live on one device.
struct PackedBatch {
  at::Tensor tokens;     // [rows] int64
  at::Tensor positions;  // [rows] int64, absolute
  std::vector<PackedSegment> segments;
  // One entry per scored token:
  at::Tensor selected;             // [scored] int64, row
  at::Tensor labels;               // [scored] int64
  at::Tensor old_log_probs;        // [scored] fp64
  at::Tensor reference_log_probs;  // [scored] fp64
  at::Tensor advantages;           // [scored] fp64
  at::Tensor weights;              // [scored] fp64

  int64_t rows() const { return tokens.size(0); }
  int64_t scored() const { return selected.size(0); }
};

// Packs sequences in order, consecutive sequences with equal `shared` tokens as one group, into batches of at
// most `tokens_per_pack` rows (a longer sequence gets a batch of its own; a group cut by the budget repeats
// its shared rows). Sequences without a scored token are left out. `sequence_scale`[i] multiplies the weights
// of sequence i.
std::vector<PackedBatch> pack(const std::vector<LiveSequence>& sequences,
                              const std::vector<double>& sequence_scale, int64_t block_size,
                              int64_t tokens_per_pack, at::Device device);

// Stable order in which sequences with equal `shared` tokens follow one another.
std::vector<size_t> grouped_order(const std::vector<LiveSequence>& sequences);

}  // namespace bicrl
