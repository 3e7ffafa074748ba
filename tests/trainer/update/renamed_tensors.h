// A tensor plane that names one buffer as another: a rank over it enters what others do not, of the same
// size. To be included before Catch2.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "trainer/ranks/tensor_plane.h"

namespace bicrl::testing {

class RenamedTensors : public TensorPlane {
 public:
  RenamedTensors(TensorPlane& plane, std::string from, std::string to)
      : plane_(plane), from_(std::move(from)), to_(std::move(to)) {}
  int rank() const override { return plane_.rank(); }
  int size() const override { return plane_.size(); }
  Transfer all_reduce(at::Tensor tensor, const std::string& what) override {
    return plane_.all_reduce(std::move(tensor), name(what));
  }
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override {
    return plane_.reduce_scatter(std::move(whole), std::move(mine), name(what));
  }
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override {
    return plane_.all_gather(std::move(mine), std::move(whole), name(what));
  }
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override {
    return plane_.broadcast(std::move(tensor), root, name(what));
  }
  const EnteredOperations* entered() const override { return plane_.entered(); }
  void poll() override { plane_.poll(); }
  void abort() noexcept override { plane_.abort(); }

 private:
  const std::string& name(const std::string& what) const { return what == from_ ? to_ : what; }

  TensorPlane& plane_;
  std::string from_, to_;
};

}  // namespace bicrl::testing
