// The gradient of an update, from each rank's backward passes to the sum over all ranks: taken from a
// parameter as soon as autograd has it, and summed over ranks group by group, as soon as a group is done,
// while the pass goes on. The sum lies in the store's gradient: whole, or this rank's shard. Every rank sums
// the same groups in the same order, from the last group to the first. Refers to store and tensor plane,
// which must outlive it, and owns the gradient. Not thread-safe.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "policy/pass/gradient_sink.h"
#include "trainer/ranks/tensor_plane.h"
#include "trainer/update/optimizer/gradients.h"
#include "trainer/update/sharding.h"

namespace bicrl {

class GradientBuckets : public GradientSink {
 public:
  // So many groups are summed over ranks at a time, besides the one that the pass is in, where each has
  // buffers: sharded gradients, and all on the CPU. A GPU sums whole gradients where they lie.
  static constexpr int64_t kMaxUnderWay = 2;

  // `group_done` is called when a pass has all gradients of a group and reads its values no longer.
  GradientBuckets(ParameterStore& store, TensorPlane& tensors, Sharding sharding,
                  std::function<void(int64_t group)> group_done = {});
  ~GradientBuckets() override;
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Whether ranks have to run equally many passes: sharded gradients are summed over ranks in each.
  bool passes_are_collective() const { return sharding_.gradients() == PartExtent::kShard; }

  // While it lives, backward passes reach the parameters, and what they leave there is taken.
  class Taking {
   public:
    explicit Taking(GradientBuckets& buckets);
    ~Taking();
    Taking(const Taking&) = delete;
    Taking& operator=(const Taking&) = delete;

   private:
    GradientBuckets& buckets_;
    GradientScope scope_;
  };

  // Of backward passes without a graph, between begin_pass() and end_pass().
  at::Tensor sum(int64_t group) override { return bucket(group); }
  void complete(int64_t group) override;

  // Around each backward pass. `last`: of the update, on this rank.
  void begin_pass(bool last);
  void end_pass();
  // A group of a pass without data: where other ranks have more passes. To be called from the last group to
  // the first, between begin_pass() and end_pass().
  void skip_group(int64_t group) { complete(group); }

  // The update's passes are over on this rank: waits until the store's gradient is the sum over all ranks.
  void finish();
  void zero();

 private:
  struct TakeOne;
  struct Incoming {
    int64_t group = 0;
    Transfer transfer;
    at::Tensor shard;  // summed over ranks; added to the gradient. Undefined: it lies there already
  };
  void take(int64_t entry);
  at::Tensor bucket(
      int64_t group);  // where this rank's gradients of a group are summed: [shards * shard size]
  void sum_over_ranks(int64_t group);
  void receive_one();

  ParameterStore& store_;
  TensorPlane& tensors_;
  Sharding sharding_;
  std::function<void(int64_t group)> group_done_;
  std::vector<at::Tensor> passing_;  // sharded gradients: a group's within a pass
  std::vector<int64_t> missing_;     // entries of each group whose gradient the pass still owes
  int64_t next_ = -1;                // the group to be summed next; all behind it are done
  bool last_pass_ = false;
  bool summed_ = false;  // whole gradients: by the last pass
  std::deque<Incoming> under_way_;
};

}  // namespace bicrl
