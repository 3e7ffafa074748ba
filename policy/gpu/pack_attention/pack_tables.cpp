#include "policy/gpu/pack_attention/pack_tables.h"

#include <cstring>

#include "common/error.h"

namespace bicrl::gpu {
namespace {

constexpr int64_t kAlignment = 16;

// Calls visit(array, the place of its pointer) for each array of the plan, in their order.
template <class Visit>
void for_each_array(const PackAttentionPlan& plan, PackTables& tables, const Visit& visit) {
  visit(plan.row_limits, tables.row_limits);
  visit(plan.runs, tables.runs);
  visit(plan.query_tiles, tables.query_tiles);
  visit(plan.query_tasks, tables.query_tasks);
  visit(plan.first_query_task, tables.first_query_task);
  visit(plan.key_tiles, tables.key_tiles);
  visit(plan.key_uses, tables.key_uses);
  visit(plan.key_tasks, tables.key_tasks);
  visit(plan.first_key_task, tables.first_key_task);
  visit(plan.key_sums, tables.key_sums);
}

template <class T>
int64_t bytes_of(const std::vector<T>& array) {
  const auto bytes = static_cast<int64_t>(array.size() * sizeof(T));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

int64_t pack_table_bytes(const PackAttentionPlan& plan) {
  PackTables unused;
  int64_t bytes = 0;
  for_each_array(plan, unused, [&](const auto& array, auto&) { bytes += bytes_of(array); });
  return bytes;
}

void write_pack_tables(const PackAttentionPlan& plan, std::span<std::byte> bytes) {
  BICRL_CHECK(static_cast<int64_t>(bytes.size()) >= pack_table_bytes(plan));
  PackTables unused;
  int64_t at = 0;
  for_each_array(plan, unused, [&](const auto& array, auto&) {
    if (!array.empty()) std::memcpy(bytes.data() + at, array.data(), array.size() * sizeof(array.front()));
    at += bytes_of(array);
  });
}

PackTables pack_tables_at(const PackAttentionPlan& plan, const void* first) {
  PackTables tables;
  const auto* next = static_cast<const std::byte*>(first);
  for_each_array(plan, tables, [&](const auto& array, auto& pointer) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(next);
    next += bytes_of(array);
  });
  tables.query_task_count = static_cast<int32_t>(plan.query_tasks.size());
  tables.key_task_count = static_cast<int32_t>(plan.key_tasks.size());
  tables.key_sum_count = static_cast<int32_t>(plan.key_sums.size());
  tables.processors = static_cast<int32_t>(plan.first_query_task.size()) - 1;
  return tables;
}

}  // namespace bicrl::gpu
