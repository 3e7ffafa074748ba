// Attention to packs on NVIDIA GPUs, forward and backward, behind pointers, shapes and a stream
// (policy/attention/pack_attention_plan.h says how a pack is cut into tiles). Every sum is added up in one
// order, so that the same work gives the same bits. Free of torch. Arrays lie on the device of the stream;
// nothing is kept; calls return at once, and throw Error, naming the kernel, if it could not be started.
//
// There are two forms of each kernel. The portable one multiplies warp by warp and runs on any GPU with bf16
// (compute capability 8.0), and in the project's PTX interpreter. The other is for Hopper: matrices come into
// shared memory by its copy engine, and warpgroups multiply them there.
#pragma once
#include <cstdint>

#include "policy/attention/pack_attention_plan.h"
#include "policy/gpu/gpu_kernels.h"

namespace bicrl::gpu {

// A PackAttentionPlan's arrays on the device, and how long they are.
struct PackTables {
  const int32_t* row_limits = nullptr;
  const QueryRun* runs = nullptr;
  const QueryTile* query_tiles = nullptr;
  const QueryTask* query_tasks = nullptr;
  const int32_t* first_query_task = nullptr;
  const KeyTile* key_tiles = nullptr;
  const KeyUse* key_uses = nullptr;
  const KeyTask* key_tasks = nullptr;
  const int32_t* first_key_task = nullptr;
  const KeySum* key_sums = nullptr;
  int32_t query_task_count = 0, key_task_count = 0, key_sum_count = 0;
  int32_t processors = 0;
};

// [rows, heads of it, head_dim]: a row's heads lie side by side, rows are `stride` elements apart. Pointers
// and strides are multiples of 16 bytes.
struct HeadRows {
  BFloat16* first = nullptr;
  int64_t stride = 0;
};

struct PackWork {
  int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0, block_size = 0;
  int64_t run_rows = 0;  // of the plan
  float scale = 0;       // of the scores
  PackTables tables{};
  HeadRows q{}, k{}, v{};
  BFloat16* out = nullptr;    // [rows, heads, head_dim]
  float* log_sums = nullptr;  // [pack_log_sums()], to the base of 2: forward writes, backward reads
  // Of the backward pass alone:
  const BFloat16* grad_out = nullptr;  // [rows, heads, head_dim]
  HeadRows grad_q{}, grad_k{}, grad_v{};
  float* deltas = nullptr;  // [pack_log_sums()], workspace
  float* parts = nullptr;   // [pack_part_floats() * plan.key_parts], workspace
};

// Floats of a sum for each row and head: [kv_heads, rows, group].
inline int64_t pack_log_sums(int64_t rows, int64_t heads) { return rows * heads; }
// Floats of a part of the gradients of a tile of keys and values.
inline int64_t pack_part_floats(int64_t head_dim) { return 2 * kKeyTileRows * head_dim; }

enum class PackForm { kPortable, kHopper };
// The faster form that the current device can run, of those in this program.
PackForm best_pack_form();
// Processors of the current device, as a plan is to be made for.
int64_t pack_processors();

void pack_attention_forward(const PackWork& work, PackForm form, Stream stream);
void pack_attention_backward(const PackWork& work, PackForm form, Stream stream);

}  // namespace bicrl::gpu
