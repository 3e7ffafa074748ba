// A tensor plane that keeps account of another: how often each kind of collective was used, how many bytes it
// moved, how long this rank stood waiting for it, and how long it was under way.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

struct CollectiveFigures {
  int64_t calls = 0;
  int64_t bytes = 0;       // of whole tensors, as NCCL's tests count them
  double waited_s = 0;     // in which this rank did nothing else
  double under_way_s = 0;  // from its start until a wait for it was over: no less than it took
  bool operator==(const CollectiveFigures&) const = default;
  CollectiveFigures& operator+=(const CollectiveFigures& other);
};

using CollectiveAccount = std::map<std::string, CollectiveFigures>;  // "all_reduce", "reduce_scatter"...

// Refers to the plane that does the work.
class MeasuredTensors : public TensorPlane {
 public:
  explicit MeasuredTensors(TensorPlane& plane)
      : plane_(plane), account_(std::make_shared<CollectiveAccount>()) {}

  // Since the last call. What is still under way counts from the next one on, but for its call and bytes.
  CollectiveAccount take();

  int rank() const override { return plane_.rank(); }
  int size() const override { return plane_.size(); }
  Transfer all_reduce(at::Tensor tensor, const std::string& what) override;
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override;
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override;
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override;
  at::Tensor checksum(const at::Tensor& values, int64_t bucket) override {
    return plane_.checksum(values, bucket);
  }
  const EnteredOperations* entered() const override { return plane_.entered(); }
  void poll() override { plane_.poll(); }
  void abort() noexcept override { plane_.abort(); }
  void set_wait_limit(double seconds) override { plane_.set_wait_limit(seconds); }

 private:
  class Measured;
  template <class Start>
  Transfer measure(const char* kind, const at::Tensor& whole, Start&& start);

  TensorPlane& plane_;
  std::shared_ptr<CollectiveAccount> account_;  // transfers that outlive this write there
};

}  // namespace bicrl
