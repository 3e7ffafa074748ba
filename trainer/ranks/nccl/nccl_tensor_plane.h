// The tensor plane over NCCL, for tensors on this rank's GPU; those in host memory are staged there. An
// operation starts at once, on a stream of its own that waits for what the caller's stream had to do before:
// so it runs beside later work of that stream. Ranks compare what they have entered afterwards
// (entered_operations.h). A rank that waits for long asks the others which operation they are in
// (mpi_inquiry.h): so ranks that have parted, or a rank that never comes, are named while GPUs wait. Sums are
// taken in the order of NCCL's rings and trees: with two ranks these are the MPI plane's bits, with more they
// agree within rounding.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>

#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/ranks/mpi/mpi_session.h"
#include "trainer/ranks/tensor_plane.h"

struct ncclComm;
struct CUstream_st;

namespace bicrl {

// The ranks of a control plane, all of the session's or the first of them, each with a GPU of its own.
// Session and control plane must outlive it, and the control plane has no other plane that lives as long.
// Faults of MPI, CUDA and NCCL throw Error. A wait ends when the GPU has the result, so that any stream may
// use it.
class NcclTensorPlane : public TensorPlane {
 public:
  // Collective (nccl_communicator.h).
  NcclTensorPlane(const MpiSession& session, ControlPlane& control, at::Device gpu);
  ~NcclTensorPlane() override;
  int rank() const override;
  int size() const override;
  const std::string& description() const;  // NcclCommunicator's
  Transfer all_reduce(at::Tensor tensor, const std::string& what) override;
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override;
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override;
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override;
  at::Tensor checksum(const at::Tensor& values, int64_t bucket) override;
  const EnteredOperations* entered() const override;
  // Throws Error, with the plane aborted, if another rank has asked and is in another operation.
  void poll() override;
  void abort() noexcept override;

 private:
  class Operation;
  struct State;
  // Puts an operation on a stream; returns a ncclResult_t.
  using Launch = std::function<int(ncclComm*, CUstream_st*)>;
  Transfer start(std::shared_ptr<Operation> operation);
  void wait_for(Operation& operation);
  void answer_others();

  std::unique_ptr<State> state_;
};

}  // namespace bicrl
