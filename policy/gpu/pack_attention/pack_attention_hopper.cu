#include <cuda_runtime_api.h>

#include <mutex>

#include "common/error.h"
#include "policy/gpu/launch_check.h"
#include "policy/gpu/pack_attention/pack_forward_hopper.cuh"
#include "policy/gpu/pack_attention/pack_key_gradients_hopper.cuh"
#include "policy/gpu/pack_attention/pack_launch.h"
#include "policy/gpu/pack_attention/pack_query_gradients_hopper.cuh"

namespace bicrl::gpu {
namespace {

// Of the code that a device gets of this file.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ int has_warpgroups = 1;
#else
__device__ int has_warpgroups = 0;
#endif

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// A function of the driver, asked for by the runtime: the program is not linked with the driver.
EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
    BICRL_CHECK(error == cudaSuccess && result == cudaDriverEntryPointSuccess,
                "the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

// Calls of the driver need a context in their thread, which the runtime makes current only by calls of its
// own.
void bind_context() {
  int device = 0;
  cudaGetDevice(&device);
  BICRL_CHECK(cudaSetDevice(device) == cudaSuccess, "device ", device, " cannot be used");
}

// bf16, of which boxes become slices of 64 dimensions. extents: the innermost first; strides: of all but
// that, in elements.
template <int kRank>
CUtensorMap map_of(const void* first, const cuuint64_t (&extents)[kRank], const int64_t (&strides)[kRank - 1],
                   const cuuint32_t (&box)[kRank]) {
  cuuint64_t bytes[kRank - 1];
  cuuint32_t steps[kRank];
  for (int i = 0; i < kRank; ++i) steps[i] = 1;
  for (int i = 0; i + 1 < kRank; ++i) bytes[i] = static_cast<cuuint64_t>(strides[i]) * 2;
  CUtensorMap map;
  const CUresult result =
      encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, kRank, const_cast<void*>(first), extents, bytes,
                     box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  BICRL_CHECK(result == CUDA_SUCCESS, "cuTensorMapEncodeTiled returned ", static_cast<int>(result));
  return map;
}

cuuint64_t extent(int64_t x) { return static_cast<cuuint64_t>(x); }

// Rows of queries, or of what is as large.
CUtensorMap map_of_runs(const PackWork& w, const BFloat16* first, int64_t stride) {
  const int64_t group = w.heads / w.kv_heads;
  return map_of<4>(first, {extent(w.head_dim), extent(group), extent(w.kv_heads), extent(w.rows)},
                   {w.head_dim, group * w.head_dim, stride},
                   {64, static_cast<cuuint32_t>(group), 1, static_cast<cuuint32_t>(w.run_rows)});
}
CUtensorMap map_of_keys(const PackWork& w, const HeadRows& rows) {
  return map_of<3>(rows.first, {extent(w.head_dim), extent(w.kv_heads), extent(w.rows)},
                   {w.head_dim, rows.stride}, {64, 1, kChunkKeys});
}

template <class Memory>
void start(void (*kernel)(PackArguments, PackMaps), const char* name, const PackArguments& a,
           const PackMaps& maps, Stream stream) {
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Memory)));
  kernel<<<static_cast<unsigned>(a.tables.processors), kHopperThreads, sizeof(Memory), stream>>>(a, maps);
  check_launch(name);
}

}  // namespace

bool has_hopper_packs() {
  static std::once_flag asked;
  static bool has = false;
  std::call_once(asked, [] {
    int value = 0;
    has = cudaMemcpyFromSymbol(&value, has_warpgroups, sizeof value) == cudaSuccess && value == 1;
  });
  return has;
}

void start_hopper_forward(const PackWork& work, const PackArguments& a, Stream stream) {
  bind_context();
  const PackMaps maps{map_of_runs(work, work.q.first, work.q.stride), map_of_keys(work, work.k),
                      map_of_keys(work, work.v), CUtensorMap{}, CUtensorMap{}};
  const char* const name = "pack_attention_forward";
  if (work.head_dim == 64)
    start<ForwardMemory<64>>(pack_forward_hopper<64>, name, a, maps, stream);
  else
    start<ForwardMemory<128>>(pack_forward_hopper<128>, name, a, maps, stream);
}

void start_hopper_backward(const PackWork& work, const PackArguments& a, Stream stream) {
  bind_context();
  const PackMaps maps{map_of_runs(work, work.q.first, work.q.stride), map_of_keys(work, work.k),
                      map_of_keys(work, work.v), map_of_runs(work, work.out, work.heads * work.head_dim),
                      map_of_runs(work, work.grad_out, work.heads * work.head_dim)};
  const char* const queries = "pack_attention_backward (queries)";
  const char* const keys = "pack_attention_backward (keys)";
  if (work.head_dim == 64) {
    start<QueryGradientMemory<64>>(pack_query_gradients_hopper<64>, queries, a, maps, stream);
    start<KeyGradientMemory<64>>(pack_key_gradients_hopper<64>, keys, a, maps, stream);
  } else {
    start<QueryGradientMemory<128>>(pack_query_gradients_hopper<128>, queries, a, maps, stream);
    start<KeyGradientMemory<128>>(pack_key_gradients_hopper<128>, keys, a, maps, stream);
  }
}

}  // namespace bicrl::gpu
