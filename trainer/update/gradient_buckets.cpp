#include "trainer/update/gradient_buckets.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>

#include "common/error.h"

namespace bicrl {

// Called by autograd when it has added to a parameter's .grad.
struct GradientBuckets::TakeOne : torch::autograd::PostAccumulateGradHook {
  TakeOne(GradientBuckets& buckets, int64_t entry) : buckets(buckets), entry(entry) {}
  void operator()(const torch::autograd::Variable&) override { buckets.take(entry); }
  GradientBuckets& buckets;
  int64_t entry;
};

GradientBuckets::Taking::Taking(GradientBuckets& buckets) : buckets_(buckets), scope_(buckets.store_) {
  const NamedTensors& values = buckets_.store_.values();
  for (size_t i = 0; i < values.size(); ++i)
    torch::autograd::impl::set_post_acc_grad_hooks(
        values[i].second, std::make_unique<TakeOne>(buckets_, static_cast<int64_t>(i)));
}

GradientBuckets::Taking::~Taking() {
  for (const auto& [name, value] : buckets_.store_.values())
    torch::autograd::impl::set_post_acc_grad_hooks(value, nullptr);
}

GradientBuckets::GradientBuckets(ParameterStore& store, TensorPlane& tensors, Sharding sharding,
                                 std::function<void(int64_t group)> group_done)
    : store_(store),
      tensors_(tensors),
      sharding_(sharding),
      group_done_(std::move(group_done)),
      passing_(store.layout().groups().size()) {
  store_.allocate(ParameterPart::kGradient, sharding_.gradients());
}

GradientBuckets::~GradientBuckets() { store_.free(ParameterPart::kGradient); }

void GradientBuckets::begin_pass(bool last) {
  BICRL_CHECK(next_ < 0 && !summed_, "the pass before has not ended");
  last_pass_ = last;
  missing_.clear();
  for (const ParameterGroup& group : store_.layout().groups()) missing_.push_back(group.entries);
  // The head's own gradient is there before the backward pass begins (scored_pass.h).
  if (store_.layout().head_entry() >= 0) --missing_.back();
  next_ = store_.layout().final_group();
}

void GradientBuckets::end_pass() {
  BICRL_CHECK(next_ < 0, "a backward pass left ", store_.layout().group(next_).name, " without gradients");
  if (last_pass_) summed_ = sharding_.gradients() == PartExtent::kWhole;
}

at::Tensor GradientBuckets::bucket(int64_t group) {
  if (sharding_.gradients() == PartExtent::kWhole) return store_.group_part(ParameterPart::kGradient, group);
  at::Tensor& bucket = passing_[static_cast<size_t>(group)];
  if (!bucket.defined())
    bucket = at::zeros({store_.shard().count * store_.shard_size(group)},
                       at::TensorOptions(store_.device()).dtype(store_.wide_dtype()));
  return bucket;
}

void GradientBuckets::take(int64_t index) {
  const at::NoGradGuard guard;
  const ParameterEntry& entry = store_.layout().entry(index);
  const auto add = [&](int64_t i) {
    const ParameterEntry& e = store_.layout().entry(i);
    at::Tensor& gradient = store_.values()[static_cast<size_t>(i)].second.mutable_grad();
    BICRL_CHECK(gradient.defined(), e.name);
    bucket(e.group).narrow(0, e.offset, e.size).view(e.shape).add_(gradient);
    gradient.reset();
  };
  add(index);
  const int64_t head = store_.layout().head_entry();
  if (head >= 0 && entry.group == store_.layout().entry(head).group) add(head);
  if (--missing_[static_cast<size_t>(entry.group)] == 0) complete(entry.group);
  tensors_.poll();
}

void GradientBuckets::complete(int64_t group) {
  missing_[static_cast<size_t>(group)] = 0;
  // In the same order on all ranks, whatever the order in which a graph is walked.
  while (next_ >= 0 && missing_[static_cast<size_t>(next_)] == 0) {
    const int64_t done = next_--;
    if (last_pass_ || passes_are_collective()) sum_over_ranks(done);
    if (group_done_) group_done_(done);
  }
  tensors_.poll();
}

void GradientBuckets::sum_over_ranks(int64_t group) {
  const std::string what = "gradient of " + store_.layout().group(group).name;
  Incoming incoming{group, {}, {}};
  if (sharding_.gradients() == PartExtent::kWhole) {
    const at::Tensor& whole = store_.group_part(ParameterPart::kGradient, group);
    incoming.transfer =
        sharding_.state() == PartExtent::kWhole
            ? tensors_.all_reduce(whole, what)
            : tensors_.reduce_scatter(whole, store_.my_part(ParameterPart::kGradient, group), what);
  } else {
    const at::Tensor whole = bucket(group);
    incoming.shard = at::empty({store_.shard_size(group)}, whole.options());
    incoming.transfer = tensors_.reduce_scatter(whole, incoming.shard, what);
    passing_[static_cast<size_t>(group)].reset();
  }
  // On the CPU MPI has buffers for what it receives.
  const bool has_buffers = incoming.shard.defined() || store_.device().is_cpu();
  under_way_.push_back(std::move(incoming));
  while (has_buffers && static_cast<int64_t>(under_way_.size()) > kMaxUnderWay) receive_one();
}

void GradientBuckets::receive_one() {
  Incoming incoming = std::move(under_way_.front());
  under_way_.pop_front();
  incoming.transfer.wait();
  if (incoming.shard.defined()) store_.my_part(ParameterPart::kGradient, incoming.group).add_(incoming.shard);
}

void GradientBuckets::finish() {
  const at::NoGradGuard guard;
  // A rank without a pass takes part all the same.
  if (sharding_.gradients() == PartExtent::kWhole && !summed_)
    for (int64_t g = store_.layout().final_group(); g >= 0; --g) sum_over_ranks(g);
  summed_ = false;
  while (!under_way_.empty()) receive_one();
}

void GradientBuckets::zero() {
  for (int64_t g = 0; g < store_.layout().group_count(); ++g)
    store_.group_part(ParameterPart::kGradient, g).zero_();
}

}  // namespace bicrl
