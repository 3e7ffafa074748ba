// The parameters of a policy and what training keeps beside them (gradients, fp32 masters, AdamW's moments):
// flat buffers, one per group of the layout, whole or this rank's shard, and named views of them. Nobody else
// knows where a parameter lies. Owns all of that memory. Not thread-safe while something changes; its tensors
// may be read from several threads.
#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/files/safetensors.h"
#include "policy/parameters/parameter_layout.h"

namespace bicrl {

enum class ParameterPart { kGradient, kMaster, kFirstMoment, kSecondMoment };
enum class PartExtent { kWhole, kShard };

class ParameterStore {
 public:
  // Values are zero.
  ParameterStore(ParameterLayout layout, at::Device device, at::ScalarType dtype);
  ParameterStore(const PolicyConfig& config, at::Device device, at::ScalarType dtype)
      : ParameterStore(ParameterLayout(config), device, dtype) {}
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  const ParameterLayout& layout() const { return layout_; }
  at::Device device() const { return device_; }
  at::ScalarType dtype() const { return dtype_; }
  at::ScalarType wide_dtype() const;  // of the parts: fp32, fp64 for an fp64 policy
  bool needs_master() const;          // whether values lose precision against the parts

  // ---- Values. The views stay for the store's life, by Hugging Face name in the order of the layout, and
  // ---- their memory is there while their group is resident.
  const NamedTensors& values() const { return values_; }
  // Neighbours in memory with the same columns as one matrix: [sum of rows, columns].
  at::Tensor fused(const std::string& first, const std::string& last) const;
  at::Tensor group_values(int64_t group) const;  // [shards * shard size], flat, live
  at::Tensor my_values(int64_t group) const;     // [shard size], this rank's, live
  std::string checksum() const;                  // XXH3 of all values; groups must be resident

  // ---- Shards. To be called before parts are allocated; values are kept.
  void divide(ShardOf shard);
  ShardOf shard() const { return shard_; }
  int64_t shard_size(int64_t group) const { return layout_.shard_size(group, shard_.count); }
  std::vector<ParameterPiece> my_pieces(int64_t group) const { return layout_.pieces(group, shard_); }

  // Keeps this rank's values in memory of their own, which my_values() gives from then on, so that groups
  // need not be resident.
  void keep_shards();
  void forget_shards();
  void refresh_shards();  // from the groups, after somebody else wrote those
  bool resident(int64_t group) const { return storages_.at(static_cast<size_t>(group)).nbytes() > 0; }
  void release(int64_t group);            // frees the group's memory; its views must not be read
  at::Tensor claim(int64_t group) const;  // memory for a group without, to be filled: as group_values()

  // ---- Parts, zero at first.
  void allocate(ParameterPart part, PartExtent extent);
  void free(ParameterPart part) { parts_.erase(part); }
  bool has(ParameterPart part) const { return parts_.contains(part); }
  PartExtent extent(ParameterPart part) const { return parts_.at(part).extent; }
  // What this rank holds of it: [shards * shard size] or [shard size].
  const at::Tensor& group_part(ParameterPart part, int64_t group) const;
  at::Tensor my_part(ParameterPart part, int64_t group) const;     // [shard size]
  at::Tensor entry_part(ParameterPart part, int64_t entry) const;  // of a whole part, in the entry's shape

 private:
  struct Part {
    PartExtent extent = PartExtent::kWhole;
    std::vector<at::Tensor> groups;
  };
  int64_t padded_size(int64_t group) const { return shard_.count * shard_size(group); }
  at::Tensor values_view(int64_t group, int64_t offset, at::IntArrayRef shape) const;

  ParameterLayout layout_;
  at::Device device_;
  at::ScalarType dtype_;
  ShardOf shard_;
  std::vector<c10::Storage> storages_;  // of the values, by group; views refer to these
  NamedTensors values_;
  std::vector<at::Tensor> value_shards_;  // by group; empty if shards are parts of the groups' memory
  std::map<ParameterPart, Part> parts_;
};

}  // namespace bicrl
