// The tensor plane over MPI, for tensors in host memory; those on a device are staged there. Ranks send each
// other's parts directly and add them in rank order. Data move while some call of the plane runs (poll()).
#pragma once
#include <memory>
#include <string>

#include "trainer/ranks/mpi/mpi_session.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

class MpiOperation;
struct MpiLink;

// All ranks of the session, which must outlive it, or the first `ranks` of them, which alone make it then and
// have the same numbers in it. MPI faults throw Error.
class MpiTensorPlane : public TensorPlane {
 public:
  explicit MpiTensorPlane(const MpiSession& session, int ranks = MpiSession::kAllRanks);
  ~MpiTensorPlane() override;
  int rank() const override;
  int size() const override;
  Transfer all_reduce(at::Tensor tensor, const std::string& what) override;
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override;
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override;
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override;
  void poll() override;
  void abort() noexcept override;

 private:
  class Operation;
  struct State;
  MpiLink next_link();
  Transfer start(std::unique_ptr<MpiOperation> steps);
  void wait_for(Operation& operation);

  std::shared_ptr<State> state_;
};

}  // namespace bicrl
