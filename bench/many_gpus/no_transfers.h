// A tensor plane of several ranks that moves nothing between them: what transfers cost is the difference to
// the same updates over it. Every rank stands for all others, so that values stay finite. Where a transfer
// would write into a buffer of its own, the device copies this rank's part into it.
#pragma once
#include <ATen/ATen.h>

#include <string>

#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

class NoTransfers : public TensorPlane {
 public:
  NoTransfers(int rank, int size) : rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Transfer all_reduce(at::Tensor, const std::string&) override { return {}; }
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string&) override {
    const at::Tensor part = whole.view({size_, -1})[rank_];
    if (part.data_ptr() != mine.data_ptr()) mine.view({-1}).copy_(part);
    return {};
  }
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string&) override {
    at::Tensor parts = whole.view({size_, -1});
    if (parts[rank_].data_ptr() != mine.data_ptr()) parts.copy_(mine.view({1, -1}));
    return {};
  }
  Transfer broadcast(at::Tensor, int, const std::string&) override { return {}; }

 private:
  int rank_, size_;
};

}  // namespace bicrl
