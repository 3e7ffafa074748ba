// Kernels of decoding on NVIDIA GPUs, behind pointers, shapes and a stream: what policy/kernels.h is for the
// CPU, and what a GPU needs beside it so that a layer is a few launches. Free of torch, so that .cu files
// see none of its headers. All arrays lie on the device of the stream; nothing is kept; calls return at once,
// and throw Error, naming the kernel, if it could not be started.
//
// Launches have fixed shapes, so that a CUDA graph of them can be replayed for other inputs: where a step may
// have fewer rows than there is room for, `count` on the device says how many.
//
// How this folder works: *.cuh are the device functions, *.cu start them; paged_forward.h is the policy's
// forward made of them and of matrix products.
#pragma once
#include <cstdint>

#include "policy/attention/attention_tiles.h"
#include "policy/kernels.h"

struct CUstream_st;

namespace bicrl::gpu {

using Stream = CUstream_st*;

// As __nv_bfloat16 lies in memory.
struct BFloat16 {
  uint16_t bits;
};

// For r < rows: sum[r] = base[s] + addend[s] and out[r] = sum[r] / rms(sum[r]) * weight, with s = gather[r],
// or r without it. The sum is rounded to Element before it is normed. Elements: float, BFloat16.
template <class Element>
struct SumNormRows {
  int64_t rows = 0, width = 0;      // a row is a multiple of 16 bytes, as is every pointer
  const Element* base = nullptr;    // [.., width]
  const Element* addend = nullptr;  // likewise; null: none
  const int64_t* gather = nullptr;  // [rows]
  const int32_t* count = nullptr;   // rows from here on are left out; null: none
  const Element* weight = nullptr;  // [width]
  double eps = 0;

  Element* sum = nullptr;  // [rows, width], may be base without gather; null: not kept
  Element* out = nullptr;  // [rows, width]
};
template <class Element>
void sum_norm_rows(const SumNormRows<Element>& work, Stream stream);

// Cosines and signed sines as NormRotateStore takes them.
struct RotationRows {
  int64_t rows = 0, head_dim = 0;
  const int64_t* positions = nullptr;        // [rows]
  const float* inverse_frequency = nullptr;  // [head_dim / 2]
  float* cos = nullptr;                      // [rows, head_dim]
  float* sin = nullptr;
};
void rotation_rows(const RotationRows& work, Stream stream);

// head_dim: 64, 128 or 256. count: rows from there on are not stored.
template <class Element>
void norm_rotate_store(const kernels::NormRotateStore<Element>& work, const int32_t* count, Stream stream);

// out = silu(gate) * up, where a row of gate_up is a row of each.
template <class Element>
struct SwiGlu {
  int64_t rows = 0, width = 0;
  const Element* gate_up = nullptr;  // [rows, 2 * width]
  Element* out = nullptr;            // [rows, width]
};
template <class Element>
void swiglu(const SwiGlu<Element>& work, Stream stream);

// Attention of rows of queries over pages of keys and values, tile by tile
// (policy/attention/attention_tiles.h): every tile leaves its share of a row's output with the log of its
// weight, and a second launch joins the shares of a row. Both are read by many heads at once: keys and values
// of a key head are loaded once for all rows and query heads of a tile.
struct PagedAttention {
  int64_t rows = 0, heads = 0, kv_heads = 0;
  int64_t head_dim = 0;            // 64 or 128
  float scale = 0;                 // of the scores
  const BFloat16* q = nullptr;     // [rows, heads, head_dim]
  const BFloat16* pool = nullptr;  // [.., 2 (key, value), kv_heads, head_dim]

  const AttentionTile* tiles = nullptr;
  const int32_t* counts = nullptr;       // [3] wide tiles, tiles, and rows: those behind have no shares
  const int32_t* pages = nullptr;        // of the tiles
  const int64_t* key_limits = nullptr;   // [rows] absolute
  const int32_t* first_share = nullptr;  // [rows + 1], rows of partial_out

  // [.., heads, head_dim]: as much of them is written and read as of keys where rows have short lists, and
  // their rounding is no more than that of `out`.
  BFloat16* partial_out = nullptr;
  float* partial_log = nullptr;  // [.., heads], to the base of 2
  BFloat16* out = nullptr;       // [rows, heads, head_dim]
};
// Columns of a tile, which are query heads of a key head, of all its rows together: of a wide one, and of one
// for a warp.
constexpr int64_t kWideColumnsAtMost = 128, kWarpColumnsAtMost = 16;
// How a plan is cut into tiles for the current device, where there is room for so many shares.
TileLimits tile_limits(int64_t heads, int64_t kv_heads, int64_t shares);
void paged_attention(const PagedAttention& work, Stream stream);

// What one masked position comes to.
struct Drawn {
  int32_t token = 0;
  float log_prob = 0;  // under the policy's unrestricted distribution
  float score = 0;     // by which it is accepted
  int32_t accepted = 0;
};

// What makes log-probabilities of a row's logits at the temperature.
struct RowScale {
  float best = 0;       // the largest logit
  float log_total = 0;  // of the weights against it
};

enum class Score : int32_t { kConfidence, kMinusEntropy, kLot };

// A draw for each row of logits, by the rules of rollout/decoding/sampling.h: the distribution is over
// allowed ids, at the temperature (0: greedy, at 1), and a token is the first id whose cumulative weight
// exceeds uniform * total.
struct SampleRows {
  int64_t rows = 0, vocab = 0;
  const float* logits = nullptr;     // [rows, vocab]
  const uint8_t* allowed = nullptr;  // [vocab]
  const double* uniforms = nullptr;  // [rows] in [0, 1)
  const float* lots = nullptr;       // [rows]
  const int32_t* count = nullptr;    // rows are `first` ... of count
  int64_t first = 0;
  float temperature = 1;
  int64_t top_k = 0;  // 0: off
  double top_p = 1;   // 1: off
  bool reference_confidence = false;
  Score score = Score::kConfidence;
  Drawn* drawn = nullptr;      // [rows], but for `accepted`
  RowScale* scales = nullptr;  // [rows]; null: not asked for
};
void sample_rows(const SampleRows& work, Stream stream);

// Which of the drawn are accepted, by the rules of rollout/decoding/acceptance.h.
enum class Acceptance : int32_t { kBest, kAboveThreshold, kLeftmost, kEntropyBounded };
struct AcceptDrawn {
  int64_t rows = 0;
  int64_t block_size = 0;
  const int32_t* count = nullptr;
  const int64_t* cells = nullptr;   // [rows] block * block_size + offset, ascending
  const int64_t* quotas = nullptr;  // [blocks]
  Acceptance rule = Acceptance::kBest;
  float threshold = 0;
  float entropy_bound = 0;
  Drawn* drawn = nullptr;
};
void accept_drawn(const AcceptDrawn& work, Stream stream);

// The ids that a position which stayed masked cannot have drawn, as they would have been accepted.
struct Rejected {
  static constexpr int32_t kListed = 7;
  double mass = 0;  // of all of them
  int32_t count = 0;
  int32_t ids[kListed] = {};  // in any order, if there are no more
};

// Those of each position that was not accepted, where acceptance goes by confidence, by the rules of
// rollout/record/rejected_mass.h. Confidences are computed as sample_rows() computes that of a candidate.
struct RejectedRows {
  int64_t rows = 0, vocab = 0;
  int64_t block_size = 0;
  const float* logits = nullptr;     // [rows, vocab]
  const uint8_t* allowed = nullptr;  // [vocab]
  const RowScale* scales = nullptr;  // [rows] of sample_rows()
  const Drawn* drawn = nullptr;      // [rows] of accept_drawn()
  const int32_t* count = nullptr;
  const int64_t* cells = nullptr;  // [rows]
  float temperature = 1;           // 0: greedy, whose distribution is that at 1
  Acceptance rule = Acceptance::kBest;
  float threshold = 0;
  Rejected* rejected = nullptr;  // [rows]; of accepted positions it stays as it is
  // [rows, vocab in whole words of 32] a bit for each id, of rows that have more than are listed.
  uint32_t* marks = nullptr;
};
void rejected_rows(const RejectedRows& work, Stream stream);

}  // namespace bicrl::gpu
