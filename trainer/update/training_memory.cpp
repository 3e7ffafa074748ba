#include "trainer/update/training_memory.h"

#include <algorithm>

#include "common/error.h"
#include "policy/parameter_layout.h"
#include "trainer/update/gradient_buckets.h"

namespace bicrl {

TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype, Sharding sharding,
                               int ranks) {
  constexpr int64_t kWide = sizeof(float);
  if (ranks == 1) sharding = {};
  const auto own = static_cast<int64_t>(c10::elementSize(dtype));
  const ParameterLayout layout(config);
  int64_t shard = 0, whole = 0, largest_group = 0, largest_entry = 0;  // elements
  for (int64_t g = 0; g < layout.group_count(); ++g) {
    const int64_t size = layout.shard_size(g, ranks);
    shard += size;
    whole += ranks * size;
    largest_group = std::max(largest_group, ranks * size);
  }
  for (const ParameterEntry& entry : layout.entries()) largest_entry = std::max(largest_entry, entry.size);
  const auto held = [&](PartExtent extent) { return extent == PartExtent::kShard ? shard : whole; };
  TrainingMemory memory;
  memory.weights_bytes = (whole + (sharding.parameters() ? shard : 0)) * own;
  // The largest is the head's or the embedding's own gradient, which is fp32.
  memory.gradients_bytes = (held(sharding.gradients()) + largest_entry) * kWide;
  memory.optimizer_bytes = held(sharding.state()) * (own < kWide ? 3 : 2) * kWide;
  if (ranks > 1) {
    // The sums under way have everybody's part of a shard, and with sharded gradients the group itself.
    const int64_t groups = GradientBuckets::kMaxUnderWay + 1;
    memory.exchange_bytes = groups * largest_group * kWide;
    if (sharding.gradients() == PartExtent::kShard) memory.exchange_bytes *= 2;
  }
  return memory;
}

std::string memory_problem(const TrainingMemory& memory, int ranks_on_host, int64_t host_bytes) {
  const int64_t needed = memory.total_bytes() * ranks_on_host;
  if (needed <= host_bytes) return "";
  const auto gigabytes = [](int64_t bytes) {
    return concat(static_cast<double>(bytes / 1'000'000) / 1000, " GB");
  };
  return concat("training does not fit into memory: ", ranks_on_host,
                ranks_on_host == 1 ? " rank needs " : " ranks need ", gigabytes(needed), " of the host's ",
                gigabytes(host_bytes), " before any activation (each: weights ",
                gigabytes(memory.weights_bytes), ", gradients ", gigabytes(memory.gradients_bytes),
                ", AdamW ", gigabytes(memory.optimizer_bytes), ", exchange ",
                gigabytes(memory.exchange_bytes),
                "); a higher trainer.sharding_stage, more hosts or policy.dtype=bfloat16 need less");
}

}  // namespace bicrl
