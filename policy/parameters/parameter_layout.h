// Memory layout of a policy's parameters: groups in the forward's order, each one flat run of elements. The
// groups are the embedding, each layer, and the final norm with an untied head. Weights that are multiplied
// with the same rows lie side by side (q, k, v; gate, up), so that one view covers them. A group is divided
// among ranks into shards of equal size, the last of which may reach behind the group's end. The adapters of
// a policy have a layout of their own, a group for each layer. Plain values; thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/lora_config.h"
#include "policy/policy_config.h"

namespace bicrl {

struct ParameterEntry {
  std::string name;  // as Hugging Face names it
  std::vector<int64_t> shape;
  bool is_norm = false;
  int64_t group = 0;
  int64_t offset = 0;  // elements from the group's begin
  int64_t size = 0;    // elements
  bool is_matrix() const { return shape.size() >= 2; }
  std::string projection() const;  // "q_proj" of "model.layers.0.self_attn.q_proj.weight"
};

struct ParameterGroup {
  std::string name;   // "embedding", "layer 3", "final"
  int64_t first = 0;  // its entries are [first, first + entries)
  int64_t entries = 0;
  int64_t size = 0;  // elements with what lies between entries; a multiple of kAlignment
};

// One rank's part of each group.
struct ShardOf {
  int64_t rank = 0;
  int64_t count = 1;
};

// The part of an entry that lies in a shard.
struct ParameterPiece {
  int64_t entry = 0;
  int64_t in_entry = 0;  // elements before it in the entry
  int64_t in_shard = 0;  // and in the shard
  int64_t size = 0;
};

class ParameterLayout {
 public:
  // Elements. Shards begin at multiples of it, and so do entries that do not continue the one before:
  // vectorised loops over a shard then treat each element as loops over the whole group do.
  static constexpr int64_t kAlignment = 32;

  explicit ParameterLayout(const PolicyConfig& config);
  // Of the adapters of a policy with this layout: of each target the factors lora_A [rank, in] and lora_B
  // [out, rank], as the PEFT library names them.
  static ParameterLayout of_adapters(const ParameterLayout& policy, const LoraConfig& lora);

  const std::vector<ParameterEntry>& entries() const { return entries_; }  // in the order of checkpoints
  const std::vector<ParameterGroup>& groups() const { return groups_; }
  int64_t group_count() const { return static_cast<int64_t>(groups_.size()); }
  const ParameterGroup& group(int64_t index) const { return groups_.at(static_cast<size_t>(index)); }
  const ParameterEntry& entry(int64_t index) const { return entries_.at(static_cast<size_t>(index)); }
  int64_t index_of(const std::string& name) const;  // throws Error on a name that is none
  int64_t layer_group(int64_t layer) const { return first_layer_ + layer; }
  int64_t final_group() const { return group_count() - 1; }
  bool tied_head() const { return tied_head_; }
  // The head, if it is an entry of its own, which is then the last one; else -1.
  int64_t head_entry() const { return head_entry_; }
  int64_t parameter_count() const { return parameter_count_; }

  int64_t shard_size(int64_t group, int64_t shards) const;
  // What lies in a shard, in order.
  std::vector<ParameterPiece> pieces(int64_t group, ShardOf shard) const;

 private:
  ParameterLayout() = default;
  void begin_group(std::string name);
  void add(std::string name, std::vector<int64_t> shape, bool continues = false);

  std::vector<ParameterEntry> entries_;
  std::vector<ParameterGroup> groups_;
  int64_t first_layer_ = 0;  // group
  int64_t head_entry_ = -1;
  bool tied_head_ = false;
  int64_t parameter_count_ = 0;
};

}  // namespace bicrl
