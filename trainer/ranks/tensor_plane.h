// Tensor plane of the ranks, which moves tensors: sums, shards and copies of a data-parallel run. Operations
// are asynchronous: they return a transfer to wait on, and until that is over their tensors belong to it.
// Every operation is collective: all ranks start the same ones in the same order, with tensors of equal type
// and size. Sums are bit-equal on all ranks and from run to run.
// A wait has a limit; a rank that reaches it throws an Error that names itself, the operation, its buffer and
// the ranks that have not come. Ranks that start different operations throw as well: in the operation, or
// where they compare what they have entered (entered_operations.h). After that the plane is of no use. Not
// thread-safe: calls of a rank do not overlap.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>

namespace bicrl {

class EnteredOperations;

// An operation under way, or none.
class Transfer {
 public:
  struct State {
    virtual ~State() = default;
    virtual void wait() = 0;
  };
  Transfer() = default;
  explicit Transfer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  // Returns when the result may be used; at once if there is nothing to wait for.
  void wait() {
    if (const auto state = std::exchange(state_, nullptr)) state->wait();
  }

 private:
  std::shared_ptr<State> state_;
};

class TensorPlane {
 public:
  static constexpr double kWaitLimit_s = 3600;

  virtual ~TensorPlane() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Tensors are contiguous and on any device; what is summed is fp32, fp64 or int64. `what` names the buffer
  // in messages.
  // In place.
  [[nodiscard]] virtual Transfer all_reduce(at::Tensor tensor, const std::string& what) = 0;
  // whole [size() * n] -> the sum of everybody's part number rank() in mine [n], which may be that part of
  // `whole` itself. Of `whole` nothing else is changed.
  [[nodiscard]] virtual Transfer reduce_scatter(at::Tensor whole, at::Tensor mine,
                                                const std::string& what) = 0;
  // mine [n] of each rank -> whole [size() * n] in rank order. `mine` may be its part of `whole`.
  [[nodiscard]] virtual Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) = 0;
  // In place, from rank `root`.
  [[nodiscard]] virtual Transfer broadcast(at::Tensor tensor, int root, const std::string& what) = 0;

  // The checksum of trainer/ranks/tensor_checksum.h, computed where the tensor lies; not collective. An int64
  // on the tensor's device, not waited for: the same number from every plane.
  virtual at::Tensor checksum(const at::Tensor& values, int64_t bucket);

  // What this rank has entered, for compare_entered(). Null if ranks compare every operation before it
  // begins.
  virtual const EnteredOperations* entered() const { return nullptr; }
  // Lets what is under way come forward, without waiting, where nothing else does so.
  virtual void poll() {}
  // Gives up what is under way: for a rank that leaves while others may still send.
  virtual void abort() noexcept {}

  virtual void set_wait_limit(double seconds) { wait_limit_s_ = seconds; }
  double wait_limit_s() const { return wait_limit_s_; }

 private:
  double wait_limit_s_ = kWaitLimit_s;
};

// Throws Error unless its type is one that is summed.
void require_summable(const at::Tensor& tensor);

// The tensor plane of a run with one rank.
class SingleProcessTensors : public TensorPlane {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  Transfer all_reduce(at::Tensor, const std::string&) override { return {}; }
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string&) override;
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string&) override;
  Transfer broadcast(at::Tensor, int, const std::string&) override { return {}; }
};

}  // namespace bicrl
