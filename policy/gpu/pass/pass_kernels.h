// Kernels of a training pass on NVIDIA GPUs beside its matrix products and its attention: norms, rotation of
// heads, SwiGLU and the embedding's sum, each way. Free of torch, so that .cu files see none of its headers.
// All arrays lie on the device of the stream, rows are contiguous unless a stride is named, and every pointer
// and row is a multiple of 16 bytes. Computed in fp32; sums have one order, so that runs repeat to the bit.
// Calls return at once and throw Error, naming the kernel, if it could not be started. Nothing is kept.
#pragma once
#include <cstdint>

#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

// Where a pass first met a number that is not finite: the least (stage, row) that a kernel has seen.
// `record` holds kNoFault at first; stages are numbered in the order in which they run.
struct FaultRecord {
  static constexpr uint64_t kNoFault = ~uint64_t{0};
  static constexpr int kRowBits = 32;
  unsigned long long* record = nullptr;  // one, on the device; null: nobody asks
  uint32_t stage = 0;
};

// out = x / rms(x) * weight, row by row.
struct NormPassRows {
  int64_t rows = 0, width = 0;
  const BFloat16* x = nullptr;       // [rows, width]
  const int64_t* names = nullptr;    // [rows] what a fault calls them; null: their index
  const BFloat16* weight = nullptr;  // [width]
  double eps = 0;
  BFloat16* out = nullptr;  // [rows, width]
  FaultRecord fault{};
};
constexpr int64_t kMaxNormWidth = 6144;
void norm_pass_rows(const NormPassRows& work, Stream stream);

// The gradient of a norm's input, added to what the residual path brings:
// out = residual + d(norm of x) / dx grad.
struct NormRowsBackward {
  int64_t rows = 0, width = 0;
  const BFloat16* grad = nullptr;  // [rows, width]
  const BFloat16* x = nullptr;     // [rows, width]
  const int64_t* names = nullptr;  // as above
  const BFloat16* weight = nullptr;
  double eps = 0;
  const BFloat16* residual = nullptr;  // [rows, width]; null: none
  BFloat16* out = nullptr;             // [rows, width]; may be `residual`
  float* partial = nullptr;  // [norm_partials(rows, width), width] of the weight's gradient; null: not asked
  FaultRecord fault{};
};
int64_t norm_partials(int64_t rows, int64_t width);
void norm_rows_backward(const NormRowsBackward& work, Stream stream);

// Heads of queries and keys, which lie side by side in a row of the fused product, normed and rotated as
// kernels::NormRotateStore does it. head_dim: 64, 128 or 256.
struct RotateHeads {
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0;
  const BFloat16* qkv = nullptr;  // row r at qkv + r * stride: [heads + kv_heads (+ kv_heads), head_dim]
  int64_t stride = 0;
  const BFloat16* q_norm = nullptr;  // [head_dim]
  const BFloat16* k_norm = nullptr;
  double eps = 0;
  const float* cos = nullptr;  // [rows, head_dim], as NormRotateStore takes them
  const float* sin = nullptr;
  BFloat16* rotated = nullptr;  // [rows, heads + kv_heads, head_dim]
};
void rotate_heads(const RotateHeads& work, Stream stream);

// Its gradient, in place: of rotated heads to that of projected ones.
struct RotateHeadsBackward {
  RotateHeads forward;       // without `rotated`
  BFloat16* grad = nullptr;  // row r at grad + r * grad_stride
  int64_t grad_stride = 0;
  float* partial = nullptr;  // [rotate_partials(rows), 2 (q, k), head_dim] of the norms' gradients; null
};
int64_t rotate_partials(int64_t rows);
void rotate_heads_backward(const RotateHeadsBackward& work, Stream stream);

// The gradient of out = silu(gate) * up, written over gate and up.
struct SwiGluBackward {
  int64_t rows = 0, width = 0;
  const BFloat16* grad = nullptr;  // [rows, width]
  BFloat16* gate_up = nullptr;     // [rows, 2 * width]
  BFloat16* out = nullptr;         // [rows, width], computed again; null: not asked
};
void swiglu_backward(const SwiGluBackward& work, Stream stream);

// sum[i] += partial[0][i] + partial[1][i] + ...
void add_partials(const float* partial, int64_t count, int64_t width, float* sum, Stream stream);

// Gradient rows summed by token: sum[token of a run] += its rows, run by run in their order. A run is at most
// kRunRows rows of one token; a token with several runs sums them up in `partial` first.
struct EmbeddingBackward {
  static constexpr int64_t kRunRows = 64;
  int64_t width = 0;
  const BFloat16* grad = nullptr;      // [.., width]
  const int32_t* rows = nullptr;       // of grad, ordered by token
  const int32_t* run_begin = nullptr;  // [runs + 1] in `rows`
  const int32_t* run_token = nullptr;  // [runs]
  const int32_t* run_slot = nullptr;   // [runs] row of `partial`; -1: the token has one run
  int64_t runs = 0;
  const int32_t* long_begin = nullptr;  // [long_tokens + 1] rows of `partial`
  const int32_t* long_token = nullptr;  // [long_tokens]
  int64_t long_tokens = 0;
  float* partial = nullptr;  // [.., width]
  float* sum = nullptr;      // [vocab, width]
};
void embedding_backward(const EmbeddingBackward& work, Stream stream);

}  // namespace bicrl::gpu
