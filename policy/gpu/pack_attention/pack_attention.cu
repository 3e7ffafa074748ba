#include "policy/gpu/pack_attention/pack_attention.h"

#include <cuda_runtime_api.h>

#include "common/error.h"
#include "policy/gpu/launch_check.h"
#include "policy/gpu/pack_attention/pack_keys_portable.cuh"
#include "policy/gpu/pack_attention/pack_launch.h"

namespace bicrl::gpu {
namespace {

constexpr unsigned kBlocksOfSum = 8;

const __nv_bfloat16* device(const BFloat16* x) { return reinterpret_cast<const __nv_bfloat16*>(x); }
__nv_bfloat16* device(BFloat16* x) { return reinterpret_cast<__nv_bfloat16*>(x); }

PackArguments arguments_of(const PackWork& work) {
  PackArguments a{};
  a.tables = work.tables;
  a.q = device(work.q.first);
  a.k = device(work.k.first);
  a.v = device(work.v.first);
  a.grad_out = device(work.grad_out);
  a.out = device(work.out);
  a.grad_q = device(work.grad_q.first);
  a.grad_k = device(work.grad_k.first);
  a.grad_v = device(work.grad_v.first);
  a.q_stride = work.q.stride;
  a.k_stride = work.k.stride;
  a.v_stride = work.v.stride;
  a.grad_q_stride = work.grad_q.stride;
  a.grad_k_stride = work.grad_k.stride;
  a.grad_v_stride = work.grad_v.stride;
  a.log_sums = work.log_sums;
  a.deltas = work.deltas;
  a.parts = work.parts;
  a.scale = work.scale;
  a.scale_log2 = work.scale * 1.44269504088896340736f;
  a.rows = static_cast<int>(work.rows);
  a.heads = static_cast<int>(work.heads);
  a.kv_heads = static_cast<int>(work.kv_heads);
  a.group = a.heads / a.kv_heads;
  a.run_rows = static_cast<int>(work.run_rows);
  a.block_size = static_cast<int>(work.block_size);
  a.inverse_group = (65535 + a.group) / a.group;
  return a;
}

// Starts a portable kernel with room for so many matrices of 64 rows.
template <int kHeadDim>
void start(void (*kernel)(PackArguments), const char* name, int blocks, int matrices, const PackArguments& a,
           Stream stream) {
  if (blocks == 0) return;
  const unsigned bytes = static_cast<unsigned>(matrices) * kMatrixBytes<kHeadDim>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  kernel<<<static_cast<unsigned>(blocks), kPackThreads, bytes, stream>>>(a);
  check_launch(name);
}

template <int kHeadDim>
void run_forward(const PackWork& work, PackForm form, Stream stream) {
  const PackArguments a = arguments_of(work);
  if (form == PackForm::kHopper)
    start_hopper_forward(work, a, stream);
  else
    start<kHeadDim>(pack_forward_portable<kHeadDim>, "pack_attention_forward", 2 * a.tables.query_task_count,
                    5, a, stream);
}

template <int kHeadDim>
void run_backward(const PackWork& work, PackForm form, Stream stream) {
  const PackArguments a = arguments_of(work);
  if (form == PackForm::kHopper) {
    start_hopper_backward(work, a, stream);
  } else {
    start<kHeadDim>(pack_query_gradients_portable<kHeadDim>, "pack_attention_backward (queries)",
                    2 * a.tables.query_task_count, 6, a, stream);
    start<kHeadDim>(pack_key_gradients_portable<kHeadDim>, "pack_attention_backward (keys)",
                    2 * a.tables.key_task_count, 6, a, stream);
  }
  if (a.tables.key_sum_count == 0) return;
  sum_key_parts<kHeadDim>
      <<<dim3(static_cast<unsigned>(a.tables.key_sum_count), 2, kBlocksOfSum), kPackThreads, 0, stream>>>(a);
  check_launch("pack_attention_backward (sums)");
}

}  // namespace

PackForm best_pack_form() { return has_hopper_packs() ? PackForm::kHopper : PackForm::kPortable; }

int64_t pack_processors() {
  int device = 0, count = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

void pack_attention_forward(const PackWork& work, PackForm form, Stream stream) {
  BICRL_CHECK(work.head_dim == 64 || work.head_dim == 128, "head_dim ", work.head_dim);
  if (work.head_dim == 64)
    run_forward<64>(work, form, stream);
  else
    run_forward<128>(work, form, stream);
}

void pack_attention_backward(const PackWork& work, PackForm form, Stream stream) {
  BICRL_CHECK(work.head_dim == 64 || work.head_dim == 128, "head_dim ", work.head_dim);
  if (work.head_dim == 64)
    run_backward<64>(work, form, stream);
  else
    run_backward<128>(work, form, stream);
}

}  // namespace bicrl::gpu
