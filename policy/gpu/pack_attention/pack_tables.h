// A plan of attention to packs as one run of bytes, so that one copy brings it to the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/gpu/pack_attention/pack_attention.h"

namespace bicrl::gpu {

// Bytes that the plan's arrays take, each from a multiple of 16 on.
int64_t pack_table_bytes(const PackAttentionPlan& plan);
// Writes them; `bytes` has as many.
void write_pack_tables(const PackAttentionPlan& plan, std::span<std::byte> bytes);
// Where the arrays are once these bytes begin at `first`.
PackTables pack_tables_at(const PackAttentionPlan& plan, const void* first);

}  // namespace bicrl::gpu
