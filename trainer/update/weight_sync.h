// The way of a policy's values from the ranks that train it to those that only generate with it: a broadcast
// of rank 0's, a bucket for each group of their layout, with the version of the policy and a checksum of each
// bucket (trainer/ranks/tensor_checksum.h) that the device of the sender computes before it is sent, and the
// device of the receiver from what arrived. Refers to what it is given and owns nothing of it. Not
// thread-safe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/parameters/parameter_store.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

class WeightSync {
 public:
  // Of the values of `store`, all of whose groups are resident whenever ranks synchronise. Ranks
  // [0, holders) hold the values; all but rank 0 receive its own. The planes are those of all ranks.
  WeightSync(ParameterStore& store, ControlPlane& control, TensorPlane& tensors, int holders);

  // Collective. `version`: on a rank that holds the values, the one that they are; on another, the one that
  // it is about to generate with. Throws a SharedError that names the rank, and the bucket with both sums, if
  // versions differ, if the values of two holders differ (nothing has been sent then), or if a bucket arrived
  // as another than was sent.
  void synchronise(int64_t version);

  // Of the latest synchronise(), over all buckets.
  int64_t bytes() const { return bytes_; }

 private:
  bool holds() const { return control_.rank() < holders_; }
  int64_t bucket_count() const { return store_.layout().group_count(); }
  at::Tensor bucket(int64_t index) const;  // without the padding that depends on the number of shards
  std::string name_of(int64_t index) const;
  void transfer();
  // Of what this rank has now.
  std::vector<int64_t> sums() const;
  // Throws Error unless `found` equals what rank 0 said.
  void compare(const std::vector<int64_t>& found, const std::vector<int64_t>& expected,
               int64_t version) const;

  ParameterStore& store_;
  ControlPlane& control_;
  TensorPlane& tensors_;
  int holders_;
  int64_t bytes_ = 0;
};

}  // namespace bicrl
