#include "policy/parameters/parameter_store.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "common/error.h"
#include "common/hash.h"

namespace bicrl {
namespace {

// Gives the memory of `from` to `storage`, whose tensors then lie there.
void adopt_memory(const c10::Storage& storage, const at::Tensor& from) {
  storage.set_data_ptr_noswap(from.storage().set_data_ptr(at::DataPtr(nullptr, from.device())));
  storage.set_nbytes(from.nbytes());
}

}  // namespace

ParameterStore::ParameterStore(ParameterLayout layout, at::Device device, at::ScalarType dtype)
    : layout_(std::move(layout)), device_(device), dtype_(dtype) {
  for (int64_t g = 0; g < layout_.group_count(); ++g)
    storages_.push_back(at::zeros({padded_size(g)}, at::TensorOptions(device).dtype(dtype)).storage());
  for (const ParameterEntry& e : layout_.entries())
    values_.emplace_back(e.name, values_view(e.group, e.offset, e.shape));
}

at::ScalarType ParameterStore::wide_dtype() const { return dtype_ == at::kDouble ? at::kDouble : at::kFloat; }
bool ParameterStore::needs_master() const { return dtype_ != wide_dtype(); }

// A tensor of its own rather than an alias that autograd knows of: the group's memory may be written anew
// while a graph refers to the view. Not by set_(), which gives a storage without memory some, so that a group
// that is not resident would count as such.
at::Tensor ParameterStore::values_view(int64_t group, int64_t offset, at::IntArrayRef shape) const {
  const at::NoGradGuard guard;
  const at::Tensor like = at::empty({0}, at::TensorOptions(device_).dtype(dtype_));
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storages_.at(static_cast<size_t>(group))), like.key_set(), like.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(shape, c10::contiguous_strides(shape), offset);
  return view;
}

at::Tensor ParameterStore::fused(const std::string& first, const std::string& last) const {
  const int64_t begin = layout_.index_of(first), end = layout_.index_of(last);
  const ParameterEntry& head = layout_.entry(begin);
  int64_t rows = 0, next = head.offset;
  for (int64_t i = begin; i <= end; ++i) {
    const ParameterEntry& e = layout_.entry(i);
    BICRL_CHECK(e.is_matrix() && e.group == head.group && e.offset == next && e.shape[1] == head.shape[1],
                e.name, " does not continue ", first);
    rows += e.shape[0];
    next += e.size;
  }
  BICRL_CHECK(rows > 0, last, " lies before ", first);
  return values_view(head.group, head.offset, {rows, head.shape[1]});
}

at::Tensor ParameterStore::group_values(int64_t group) const {
  return values_view(group, 0, {padded_size(group)});
}

at::Tensor ParameterStore::my_values(int64_t group) const {
  if (!value_shards_.empty()) return value_shards_.at(static_cast<size_t>(group));
  return group_values(group).narrow(0, shard_.rank * shard_size(group), shard_size(group));
}

std::string ParameterStore::checksum() const {
  std::string hashes;
  for (const auto& [name, value] : values_) {
    const at::Tensor host = value.to(at::kCPU).contiguous();
    hashes += hash_hex(std::string_view(static_cast<const char*>(host.const_data_ptr()), host.nbytes()));
  }
  return hash_hex(hashes);
}

void ParameterStore::divide(ShardOf shard) {
  BICRL_CHECK(parts_.empty() && value_shards_.empty() && shard.rank >= 0 && shard.rank < shard.count,
              "shard ", shard.rank, " of ", shard.count);
  const at::NoGradGuard guard;
  const bool same_sizes = shard.count == shard_.count;
  shard_ = shard;
  for (int64_t g = 0; g < layout_.group_count() && !same_sizes; ++g) {
    const int64_t size = layout_.group(g).size;
    const at::Tensor padded = at::zeros({padded_size(g)}, at::TensorOptions(device_).dtype(dtype_));
    padded.narrow(0, 0, size).copy_(values_view(g, 0, {size}));
    adopt_memory(storages_[static_cast<size_t>(g)], padded);
  }
}

void ParameterStore::keep_shards() {
  const at::NoGradGuard guard;
  BICRL_CHECK(value_shards_.empty());
  std::vector<at::Tensor> shards;
  for (int64_t g = 0; g < layout_.group_count(); ++g) shards.push_back(my_values(g).clone());
  value_shards_ = std::move(shards);
}

void ParameterStore::forget_shards() { value_shards_.clear(); }

void ParameterStore::refresh_shards() {
  const at::NoGradGuard guard;
  for (int64_t g = 0; g < static_cast<int64_t>(value_shards_.size()); ++g)
    value_shards_[static_cast<size_t>(g)].copy_(
        group_values(g).narrow(0, shard_.rank * shard_size(g), shard_size(g)));
}

void ParameterStore::release(int64_t group) {
  const c10::Storage& storage = storages_.at(static_cast<size_t>(group));
  BICRL_CHECK(!value_shards_.empty(), "values without a copy");
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, device_));
  storage.set_nbytes(0);
}

at::Tensor ParameterStore::claim(int64_t group) const {
  BICRL_CHECK(!resident(group), layout_.group(group).name, " is resident");
  adopt_memory(storages_[static_cast<size_t>(group)],
               at::empty({padded_size(group)}, at::TensorOptions(device_).dtype(dtype_)));
  return group_values(group);
}

void ParameterStore::allocate(ParameterPart part, PartExtent extent) {
  BICRL_CHECK(!has(part));
  Part& made = parts_[part];
  made.extent = extent;
  for (int64_t g = 0; g < layout_.group_count(); ++g)
    made.groups.push_back(at::zeros({extent == PartExtent::kWhole ? padded_size(g) : shard_size(g)},
                                    at::TensorOptions(device_).dtype(wide_dtype())));
}

const at::Tensor& ParameterStore::group_part(ParameterPart part, int64_t group) const {
  return parts_.at(part).groups.at(static_cast<size_t>(group));
}

at::Tensor ParameterStore::my_part(ParameterPart part, int64_t group) const {
  const at::Tensor& held = group_part(part, group);
  if (extent(part) == PartExtent::kShard) return held;
  return held.narrow(0, shard_.rank * shard_size(group), shard_size(group));
}

at::Tensor ParameterStore::entry_part(ParameterPart part, int64_t entry) const {
  BICRL_CHECK(extent(part) == PartExtent::kWhole);
  const ParameterEntry& e = layout_.entry(entry);
  return group_part(part, e.group).narrow(0, e.offset, e.size).view(e.shape);
}

}  // namespace bicrl
