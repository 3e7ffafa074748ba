// Kernels of the head beside its matrix products, for training: softmax over a row's logits, a tile of the
// vocabulary at a time, and what its gradient needs. Free of torch. Rows' arrays lie on the device of the
// stream; calls return at once and throw Error, naming the kernel, if it could not be started.
//
// A row's weights are kept in bf16 as exp(logit - reference), where the reference is a logit of the row near
// to its largest: relative precision is that of bf16 wherever the row's sum ends up, and the gradient of the
// logits is a row's factor times its weights, so that it is never written. The label is left out of the
// weights, as its gradient is a difference of numbers near to one; it is added in fp32.
//
// A row may score, instead of its label, that it drew none of several ids, of which the label is one.
#pragma once
#include <cstdint>

#include "policy/gpu/pass/pass_kernels.h"

namespace bicrl::gpu {

// Ids of a tile at most, and of the logits' tile in memory.
constexpr int64_t kHeadTileIds = 12288;

// What is known of each row so far, over all tiles. Logits are at the temperature and to the base of 2.
struct HeadRowState {
  float* best = nullptr;       // [rows] the largest
  float* reference = nullptr;  // [rows]
  float* sum = nullptr;        // [rows] of 2^(logit - reference)
  float* moment = nullptr;     // [rows] of 2^(logit - reference) (logit - reference)
  float* label = nullptr;      // [rows] the label's logit
};

struct HeadTile {
  int64_t rows = 0, vocab = 0;
  int64_t first = 0, ids = 0;        // of this tile: [first, first + ids)
  const float* logits = nullptr;     // [rows, kHeadTileIds]
  const uint8_t* allowed = nullptr;  // [vocab], readable up to the next multiple of four
  const int64_t* labels = nullptr;   // [rows]
  float temperature = 1;
  HeadRowState state{};
  BFloat16* weights = nullptr;      // [rows, weights_stride]; null: not asked for
  int64_t weights_stride = 0;       // a multiple of 8, at least vocab
  float* tile_reference = nullptr;  // [rows] of this tile's weights
};
// Tiles of a row follow one another from id 0 on.
void head_tile(const HeadTile& work, Stream stream);

// What rows come to, when all tiles have been there.
struct ScoredRows {
  int64_t rows = 0, tiles = 0, vocab = 0;
  HeadRowState state{};
  float* log_prob = nullptr;  // [rows] of the label
  float* entropy = nullptr;   // [rows]
  // Weights are brought to the row's last reference: few rows have a tile with another.
  BFloat16* weights = nullptr;
  int64_t weights_stride = 0;
  const float* tile_reference = nullptr;  // [tiles, tile_reference_stride]
  int64_t tile_reference_stride = 0;
  const int64_t* row_index = nullptr;  // [rows] that a fault names; null: the row itself
  FaultRecord fault{};
};
void head_rows(const ScoredRows& work, Stream stream);

// Excluded ids of rows beside their labels, row by row.
struct HeadOthers {
  int64_t count = 0;
  int64_t first_row = 0;          // what `rows` call the first row
  const int64_t* rows = nullptr;  // [count] ascending
  const int64_t* ids = nullptr;   // [count]
  float* logits = nullptr;        // [count] at the temperature and to the base of 2
};

// The logits of those that lie in a tile.
struct HeadOtherLogits {
  int64_t first = 0, ids = 0;        // of the tile
  const float* logits = nullptr;     // [rows, kHeadTileIds]
  const uint8_t* allowed = nullptr;  // [vocab]
  float temperature = 1;
  HeadOthers others{};
};
void head_other_logits(const HeadOtherLogits& work, Stream stream);

// Log-likelihoods of rows, after head_rows(): of the label, or of drawing none of the excluded ids.
struct HeadExcluded {
  int64_t rows = 0;
  const int64_t* excluded = nullptr;  // [rows] how many ids, with the label; 0: the row drew its label
  HeadOthers others{};
  HeadRowState state{};
  const float* log_prob = nullptr;  // [rows] of the label
  float* log_likelihood = nullptr;  // [rows]
  // [rows] of the excluded mass; -1 if the row drew its label, 0 if its likelihood is bounded.
  float* odds = nullptr;
  BFloat16* weights = nullptr;  // [rows, weights_stride], where ids are excluded; null: not asked for
  int64_t weights_stride = 0;
};
void head_excluded(const HeadExcluded& work, Stream stream);

// From the gradient of each row's log-likelihood: the factor of its weights in the gradient of its logits,
// what remains for its label, and the hidden rows times the factor, whose products with the weights sum up to
// the gradient of the head's weight.
struct HeadFactors {
  int64_t rows = 0, width = 0;
  const float* grad = nullptr;      // [rows] of the log-likelihood
  const float* log_prob = nullptr;  // [rows] of the label
  const float* sum = nullptr;       // [rows] of HeadRowState
  const float* odds = nullptr;      // [rows] of HeadExcluded; null: all rows drew their labels
  float temperature = 1;
  const BFloat16* hidden = nullptr;  // [rows, width]
  float* factor = nullptr;           // [rows]
  float* label_factor = nullptr;     // [rows]
  BFloat16* scaled = nullptr;        // [rows, width]; null: not asked for
};
void head_factors(const HeadFactors& work, Stream stream);

// out[r] = factor[r] * product[r] + label_factor[r] * weight[label[r]].
struct HeadGradientRows {
  int64_t rows = 0, width = 0;
  const float* product = nullptr;  // [rows, width] of the rows' weights and the head's weight
  const float *factor = nullptr, *label_factor = nullptr;
  const int64_t* labels = nullptr;
  const BFloat16* weight = nullptr;  // [vocab, width]
  BFloat16* out = nullptr;           // [rows, width]
};
void head_gradient_rows(const HeadGradientRows& work, Stream stream);

// sum[label[r]] += label_factor[r] * hidden[r], rows of one label in their order.
struct HeadLabelRows {
  int64_t rows = 0, width = 0;
  const int64_t* labels = nullptr;
  const float* label_factor = nullptr;
  const BFloat16* hidden = nullptr;  // [rows, width]
  float* sum = nullptr;              // [vocab, width]
};
void head_label_rows(const HeadLabelRows& work, Stream stream);

}  // namespace bicrl::gpu
