// The head of a policy in bf16 for training on an NVIDIA GPU: log-probabilities of labels under the policy's
// distribution (distribution.h), and their gradient, for a chunk of rows at a time. Logits are fp32 and exist
// for a tile of the vocabulary; what a chunk keeps for its gradient are the softmax's weights in bf16
// (head_kernels.h). Its memory is bounded whatever the rows. Refers to policy and operations.
// Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "policy/gpu/head/head_kernels.h"
#include "policy/gpu/pass/gpu_pass_operations.h"
#include "policy/transformer.h"

namespace bicrl::gpu {

class FusedHead {
 public:
  // Of everything that it holds, with the products' workspace.
  static constexpr int64_t kMostBytes = int64_t{512} << 20;
  // Rows of each chunk, of nearly equal chunks.
  static int64_t rows_per_chunk(const PolicyConfig& config, int64_t rows);
  static int64_t bytes(const PolicyConfig& config, int64_t rows);

  // Of chunks for at most so many rows in all. allowed: [vocab] bool.
  FusedHead(const Transformer& policy, const at::Tensor& allowed, GpuPassOperations& operations,
            int64_t rows);

  int64_t rows_per_chunk() const { return rows_per_chunk_; }

  // [rows] fp32, of views that the next score() overwrites.
  struct Scores {
    at::Tensor log_prob;  // of the labels, or of drawing none of the excluded ids
    at::Tensor entropy;   // of the distribution
  };
  // Ids of which rows drew none.
  struct Excluded {
    at::Tensor counts;  // [rows] int64, with the label; 0: the row drew its label. Undefined: all did
    // Those beside the labels. Undefined: there are none.
    at::Tensor other_rows, other_ids;  // [others] int64, row by row
    int64_t first_row = 0;             // what other_rows call the first row
  };
  // hidden: [rows, hidden]; labels: [rows] int64. named: [rows] int64, what a row is called if it is not
  // finite. With `keeps` a gradient() may follow.
  Scores score(const at::Tensor& hidden, const at::Tensor& labels, const Excluded& excluded,
               const at::Tensor& named, double temperature, bool keeps);
  // Of the rows of the last score(): writes the gradient of the hidden rows, given that of log_prob, and adds
  // to the weight's [vocab, hidden] fp32, unless undefined (a frozen head).
  void gradient(const at::Tensor& grad, const at::Tensor& hidden, const at::Tensor& labels,
                const at::Tensor& grad_hidden, const at::Tensor& weight_sum);

 private:
  at::Tensor tile_logits(const at::Tensor& hidden, int64_t first, int64_t ids);
  float* row(int64_t index) const;
  HeadRowState state() const;
  // The state of rows, their weights with `keeps`, and the others' logits, over all tiles.
  void pass_tiles(const at::Tensor& hidden, const at::Tensor& labels, const HeadOthers& others, bool keeps);
  // Of rows whose state is complete.
  void exclude(int64_t rows, const at::Tensor& counts, const HeadOthers& others, bool keeps);

  const Transformer& policy_;
  GpuPassOperations& operations_;
  int64_t vocab_, rows_per_chunk_;
  double temperature_ = 1;  // of the last score()
  bool excludes_ = false;   // likewise
  at::Tensor allowed_;      // [vocab, padded to a multiple of four]
  at::Tensor logits_;       // [rows, tile] fp32
  at::Tensor weights_;      // [rows, vocab, padded] bf16
  at::Tensor rows_;         // [.., rows] fp32: state, results and factors, and the reference of each tile
  at::Tensor product_;      // [rows, hidden] fp32, where the logits are
  at::Tensor scaled_;       // [rows, hidden] bf16, likewise
};

}  // namespace bicrl::gpu
