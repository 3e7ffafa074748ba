#include "trainer/update/parameter_gatherer.h"

namespace bicrl {

ParameterGatherer::ParameterGatherer(Transformer& policy, TensorPlane& tensors)
    : policy_(policy),
      store_(policy.store()),
      tensors_(tensors),
      coming_(store_.layout().groups().size()),
      on_its_way_(coming_.size(), false),
      frozen_(policy.has_adapters()) {
  store_.keep_shards();
}

ParameterGatherer::~ParameterGatherer() {
  if (sharded_) policy_.set_residency(nullptr);
  store_.forget_shards();
}

void ParameterGatherer::shard() {
  if (sharded_) return;
  sharded_ = true;
  policy_.set_residency(this);
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) store_.release(g);
}

void ParameterGatherer::gather_all() {
  if (!sharded_) return;
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) {
    begin(g);
    if (g > 0) need(g - 1);
  }
  need(store_.layout().final_group());
  policy_.set_residency(nullptr);
  sharded_ = false;
}

void ParameterGatherer::begin(int64_t group) {
  const auto index = static_cast<size_t>(group);
  if (store_.resident(group)) return;
  coming_[index] = tensors_.all_gather(store_.my_values(group), store_.claim(group),
                                       "values of " + store_.layout().group(group).name);
  on_its_way_[index] = true;
}

void ParameterGatherer::need(int64_t group) {
  const auto index = static_cast<size_t>(group);
  begin(group);
  if (!on_its_way_[index]) return;
  coming_[index].wait();
  on_its_way_[index] = false;
}

void ParameterGatherer::drop(int64_t group) {
  if (store_.resident(group)) store_.release(group);
}

void ParameterGatherer::before_forward(int64_t group) {
  need(group);
  if (group < store_.layout().final_group()) begin(group + 1);
}

void ParameterGatherer::after_forward(int64_t group) {
  const ParameterLayout& layout = store_.layout();
  // The head is read after the forward, and the last layer is the first that the backward pass needs.
  const bool read_on = group >= layout.final_group() - 1 || (group == 0 && layout.tied_head());
  if (!read_on) drop(group);
}

void ParameterGatherer::before_backward(int64_t group) {
  // No gradient of their own shows when frozen parameters are read for the last time.
  if (frozen_) drop(group + 1);
  need(group);
  if (group > 1) begin(group - 1);  // the embedding's gradient needs no values
}

void ParameterGatherer::after_backward(int64_t group) { drop(group); }

void ParameterGatherer::end_pass() {
  for (int64_t g = 0; frozen_ && g < store_.layout().group_count(); ++g) drop(g);
}

}  // namespace bicrl
