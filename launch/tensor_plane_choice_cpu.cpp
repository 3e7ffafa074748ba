#include "common/log.h"
#include "launch/tensor_plane_choice.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"

namespace bicrl {

std::unique_ptr<TensorPlane> make_tensor_plane(const MpiSession& session, ControlPlane& control, at::Device) {
  if (control.rank() == 0) log_info("tensors move over MPI");
  return std::make_unique<MpiTensorPlane>(session, control.size());
}

}  // namespace bicrl
