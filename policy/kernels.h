// Kernels of decoding behind an interface of pointers and shapes, free of torch, so that a device's own files
// need no header of it; a device with streams takes the one to run on as a further argument. The CPU's
// implementations stand beside them (kernels_cpu.cpp): plain loops in fp32, which are what other devices' are
// checked against. All arrays lie on the kernel's device, strides count elements, and nothing is kept.
// Thread-safe for different outputs.
#pragma once
#include <cstdint>

namespace bicrl::kernels {

// out = x / rms(x) * weight, row by row.
template <class Element>
struct NormRows {
  int64_t rows = 0, width = 0;
  const Element* x = nullptr;       // [rows, width]
  const Element* weight = nullptr;  // [width]
  double eps = 0;

  Element* out = nullptr;        // [rows, width]
  float* inverse_rms = nullptr;  // [rows]; null: not asked for
};
void norm_rows_cpu(const NormRows<float>& work);  // in this thread

// Of norm_rotate_store_cpu.
constexpr int64_t kMaxHeadDim = 1024;

// What a layer's projections give to attention, on its way there: each head of queries and keys is normed
// (RMS) and rotated (RoPE, rotate-half), and keys and values go straight into the rows of the paged cache.
template <class Element>
struct NormRotateStore {
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  const Element* q = nullptr;  // row r at q + r * q_stride: [heads, head_dim]
  const Element* k = nullptr;  // likewise [kv_heads, head_dim]
  const Element* v = nullptr;
  int64_t q_stride = 0, k_stride = 0, v_stride = 0;
  const Element* q_norm = nullptr;  // [head_dim]
  const Element* k_norm = nullptr;
  double eps = 0;
  // [rows, head_dim]: the second half of cosines repeats the first, sines have a minus in the first, so that
  // a head x becomes x * cos + (its halves swapped) * sin.
  const float* cos = nullptr;
  const float* sin = nullptr;
  const int64_t* write_rows = nullptr;  // [rows] row of the pool

  Element* rotated = nullptr;  // [rows, heads, head_dim] queries
  Element* pool = nullptr;     // [.., 2 (key, value), kv_heads, head_dim]
};
void norm_rotate_store_cpu(const NormRotateStore<float>& work);

// A draw from each row of weights, which need not sum to one: the first id whose cumulative weight (in fp64)
// exceeds uniform * total (rollout/decoding/sampling.h).
struct DrawRows {
  int64_t rows = 0, vocab = 0;
  const float* weights = nullptr;    // [rows, vocab]
  const double* uniforms = nullptr;  // [rows] in [0, 1)
  int64_t* tokens = nullptr;         // [rows]
};
void draw_rows_cpu(const DrawRows& work);

// Which of a block's masked positions are accepted: rollout/decoding/acceptance.h says by what rule.
struct AcceptByScore {
  int64_t blocks = 0, block_size = 0;
  const float* score = nullptr;     // [blocks, block_size]
  const uint8_t* masked = nullptr;  // [blocks, block_size]
  const int64_t* quotas = nullptr;  // [blocks]
  // All positions above it are accepted if they are no fewer than the quota; else the quota's best are, of
  // equal scores the lowest position first. Infinite: always the best.
  float threshold = 0;
  uint8_t* accepted = nullptr;  // [blocks, block_size]
};
void accept_by_score_cpu(const AcceptByScore& work);

}  // namespace bicrl::kernels
