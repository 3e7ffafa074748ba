#include "trainer/update/memory/training_memory.h"

#include <algorithm>
#include <vector>

#include "common/error.h"
#include "policy/parameters/parameter_layout.h"
#include "trainer/update/gradient_buckets.h"

namespace bicrl {

namespace {

// Elements of a layout that is divided among so many ranks.
struct DividedElements {
  DividedElements(const ParameterLayout& layout, int ranks) {
    for (int64_t g = 0; g < layout.group_count(); ++g) {
      const int64_t size = layout.shard_size(g, ranks);
      shard += size;
      whole += ranks * size;
      largest_group = std::max(largest_group, ranks * size);
      groups.push_back(ranks * size);
      for (const ParameterPiece& piece : layout.pieces(g, {0, ranks})) first += piece.size;
    }
    for (const ParameterEntry& entry : layout.entries()) entries += entry.size;
  }
  int64_t shard = 0, whole = 0, largest_group = 0;  // shards are padded,
  int64_t first = 0, entries = 0;                   // what rank 0 has of parameters is not
  std::vector<int64_t> groups;

  // Of so many groups that follow one another, the most.
  int64_t largest_window(int64_t count) const {
    int64_t largest = 0, window = 0;
    for (size_t g = 0; g < groups.size(); ++g) {
      window += groups[g] - (static_cast<int64_t>(g) >= count ? groups[g - static_cast<size_t>(count)] : 0);
      largest = std::max(largest, window);
    }
    return largest;
  }
};

}  // namespace

TrainingMemory training_memory(const PolicyConfig& config, c10::ScalarType dtype, Sharding sharding,
                               int ranks, const std::optional<LoraConfig>& lora, c10::DeviceType device) {
  constexpr int64_t kWide = sizeof(float);
  if (ranks == 1) sharding = {};
  const auto own = static_cast<int64_t>(c10::elementSize(dtype));
  const ParameterLayout layout(config);
  const DividedElements policy(layout, ranks);
  const DividedElements trained =
      lora ? DividedElements(ParameterLayout::of_adapters(layout, *lora), ranks) : policy;
  const auto held = [&](PartExtent extent) {
    return extent == PartExtent::kShard ? trained.shard : trained.whole;
  };
  const int64_t state_bytes = (own < kWide ? 3 : 2) * kWide;  // of a parameter
  TrainingMemory memory;
  memory.weights_bytes =
      (policy.whole + (sharding.parameters() ? policy.shard : 0) + (lora ? trained.whole : 0)) * own;
  // Where embedding and head are one, they stay throughout a pass; else both ends are read outside the
  // layers.
  if (sharding.parameters())
    memory.absent_bytes = std::max<int64_t>(policy.whole - policy.largest_window(3), 0) * own;
  memory.gradients_bytes = held(sharding.gradients()) * kWide;
  memory.optimizer_bytes = held(sharding.state()) * state_bytes;
  const bool divided = sharding.state() == PartExtent::kShard;
  memory.other_copy_bytes = divided ? trained.shard * state_bytes : 0;  // at most
  memory.first_copy_bytes = (policy.entries + (lora ? trained.entries : 0)) * own +
                            (divided ? trained.first : trained.entries) * state_bytes;
  if (ranks > 1) {
    const int64_t groups = GradientBuckets::kMaxUnderWay + 1;
    // With sharded gradients the group that a pass is in, and those whose sums are under way.
    if (sharding.gradients() == PartExtent::kShard)
      memory.exchange_bytes = trained.largest_window(groups) * kWide * (ranks + 1) / ranks;
    // MPI sums what every other rank has sent of a shard.
    if (device == c10::DeviceType::CPU)
      memory.exchange_bytes += groups * (trained.largest_group - trained.largest_group / ranks) * kWide;
  }
  return memory;
}

std::string memory_problem(const TrainingMemory& memory, int ranks_on_host, int64_t host_bytes) {
  const int64_t copies = memory.copies_bytes(ranks_on_host);
  const int64_t needed = memory.total_bytes() * ranks_on_host + copies;
  if (needed <= host_bytes) return "";
  const auto gigabytes = [](int64_t bytes) {
    return concat(static_cast<double>(bytes / 1'000'000) / 1000, " GB");
  };
  return concat(
      "training does not fit into memory: ", ranks_on_host,
      ranks_on_host == 1 ? " rank needs " : " ranks need ", gigabytes(needed), " of the host's ",
      gigabytes(host_bytes), " before any activation (each: weights ", gigabytes(memory.weights_bytes),
      ", gradients ", gigabytes(memory.gradients_bytes), ", AdamW ", gigabytes(memory.optimizer_bytes),
      ", exchange ", gigabytes(memory.exchange_bytes),
      copies > 0 ? concat("; a checkpoint's copy ", gigabytes(copies)) : "",
      "); a higher trainer.sharding_stage, more hosts, policy.dtype=bfloat16 or policy.lora need less",
      copies > 0 ? ", and run.checkpoint_in_background=false no copy" : "");
}

}  // namespace bicrl
