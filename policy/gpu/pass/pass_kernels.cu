#include "policy/gpu/pass/pass_kernels.h"

#include <algorithm>

#include "common/error.h"
#include "policy/gpu/launch_check.h"
#include "policy/gpu/pass/embedding_backward.cuh"
#include "policy/gpu/pass/head_rotation.cuh"
#include "policy/gpu/pass/norm_pass.cuh"
#include "policy/gpu/pass/swiglu_backward.cuh"

namespace bicrl::gpu {
namespace {

// Kernels that keep sums of all rows have as many blocks as an H100 has room for at a time, on every device,
// so that the order of a sum is the same everywhere.
constexpr int64_t kMultiprocessors = 132;

int64_t packs_of_thread(int64_t width) {
  constexpr int64_t kRow = kPassThreads * BfPack::kSize;
  return (width + kRow - 1) / kRow;
}

template <int kPacks>
void start_norm(const NormPassRows& w, Stream stream) {
  norm_pass_row<kPacks><<<pass_blocks(w.rows * kWarp), kPassThreads, 0, stream>>>(
      on_device(w.x), w.names, on_device(w.weight), static_cast<float>(w.eps), on_device(w.out), w.fault,
      static_cast<int>(w.rows), static_cast<int>(w.width));
}

template <int kPacks>
void start_norm_backward(const NormRowsBackward& w, unsigned threads, Stream stream) {
  norm_backward_rows<kPacks><<<static_cast<unsigned>(norm_partials(w.rows, w.width)), threads, 0, stream>>>(
      {on_device(w.grad), on_device(w.x), w.names, on_device(w.weight), on_device(w.residual),
       on_device(w.out), w.partial, w.fault, static_cast<float>(w.eps), static_cast<int>(w.rows),
       static_cast<int>(w.width)});
}

RotationArguments arguments_of(const RotateHeads& w) {
  return {on_device(w.qkv),
          w.stride,
          on_device(w.q_norm),
          on_device(w.k_norm),
          w.cos,
          w.sin,
          static_cast<float>(w.eps),
          static_cast<int>(w.rows),
          static_cast<int>(w.heads),
          static_cast<int>(w.heads + w.kv_heads)};
}

}  // namespace

void norm_pass_rows(const NormPassRows& work, Stream stream) {
  if (work.rows == 0) return;
  BICRL_CHECK(work.width <= kMaxNormWidth, "norm of ", work.width, " columns");
  const int64_t packs = (work.width + kWarp * BfPack::kSize - 1) / (kWarp * BfPack::kSize);
  if (packs <= 4)
    start_norm<4>(work, stream);
  else if (packs <= 8)
    start_norm<8>(work, stream);
  else if (packs <= 16)
    start_norm<16>(work, stream);
  else
    start_norm<24>(work, stream);
  check_launch("norm_pass_rows");
}

int64_t norm_partials(int64_t rows, int64_t width) {
  return std::min(rows, kMultiprocessors * (kNormBlocks / packs_of_thread(width)));
}

void norm_rows_backward(const NormRowsBackward& work, Stream stream) {
  if (work.rows == 0) return;
  BICRL_CHECK(work.width <= kMaxNormWidth, "norm of ", work.width, " columns");
  const int64_t lanes = work.width / BfPack::kSize;
  const auto threads =
      static_cast<unsigned>(std::min<int64_t>((lanes + kWarp - 1) / kWarp * kWarp, kPassThreads));
  switch (packs_of_thread(work.width)) {
    case 1:
      start_norm_backward<1>(work, threads, stream);
      break;
    case 2:
      start_norm_backward<2>(work, threads, stream);
      break;
    default:
      start_norm_backward<3>(work, threads, stream);
  }
  check_launch("norm_rows_backward");
}

void rotate_heads(const RotateHeads& work, Stream stream) {
  if (work.rows == 0) return;
  const unsigned blocks = pass_blocks(work.rows * kWarp);
  const RotationArguments arguments = arguments_of(work);
  if (work.head_dim == 64)
    rotate_heads_row<64><<<blocks, kPassThreads, 0, stream>>>(arguments, on_device(work.rotated));
  else if (work.head_dim == 128)
    rotate_heads_row<128><<<blocks, kPassThreads, 0, stream>>>(arguments, on_device(work.rotated));
  else
    rotate_heads_row<256><<<blocks, kPassThreads, 0, stream>>>(arguments, on_device(work.rotated));
  check_launch("rotate_heads");
}

int64_t rotate_partials(int64_t rows) {
  return std::min<int64_t>(pass_blocks(rows * kWarp), kMultiprocessors * kRotationBlocks);
}

void rotate_heads_backward(const RotateHeadsBackward& work, Stream stream) {
  if (work.forward.rows == 0) return;
  const auto blocks = static_cast<unsigned>(rotate_partials(work.forward.rows));
  const RotationArguments arguments = arguments_of(work.forward);
  const auto start = [&](auto kernel) {
    kernel<<<blocks, kPassThreads, 0, stream>>>(arguments, on_device(work.grad), work.grad_stride,
                                                work.partial);
  };
  if (work.forward.head_dim == 64)
    start(rotate_heads_backward_rows<64>);
  else if (work.forward.head_dim == 128)
    start(rotate_heads_backward_rows<128>);
  else
    start(rotate_heads_backward_rows<256>);
  check_launch("rotate_heads_backward");
}

void swiglu_backward(const SwiGluBackward& work, Stream stream) {
  if (work.rows == 0) return;
  const int packs_of_row = static_cast<int>(work.width / BfPack::kSize);
  const int64_t packs = work.rows * packs_of_row;
  swiglu_backward_pack<<<pass_blocks(packs), kPassThreads, 0, stream>>>(
      on_device(work.grad), on_device(work.gate_up), on_device(work.out), packs, packs_of_row);
  check_launch("swiglu_backward");
}

void add_partials(const float* partial, int64_t count, int64_t width, float* sum, Stream stream) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((width + kPartialColumns - 1) / kPartialColumns);
  add_partial_rows<<<blocks, kPartialColumns * kPartialGroups, 0, stream>>>(partial, static_cast<int>(count),
                                                                            static_cast<int>(width), sum);
  check_launch("add_partials");
}

void embedding_backward(const EmbeddingBackward& work, Stream stream) {
  if (work.runs == 0) return;
  const auto column_blocks = [&](int64_t each) {
    return static_cast<unsigned>((work.width + each - 1) / each);
  };
  sum_run<<<dim3(static_cast<unsigned>(work.runs), column_blocks(kSumThreads * BfPack::kSize)), kSumThreads,
            0, stream>>>({on_device(work.grad), work.rows, work.run_begin, work.run_token, work.run_slot,
                          work.partial, work.sum, static_cast<int>(work.width)});
  if (work.long_tokens > 0)
    sum_runs_of_token<<<dim3(static_cast<unsigned>(work.long_tokens), column_blocks(kSumThreads)),
                        kSumThreads, 0, stream>>>(work.partial, work.long_begin, work.long_token, work.sum,
                                                  static_cast<int>(work.width));
  check_launch("embedding_backward");
}

}  // namespace bicrl::gpu
