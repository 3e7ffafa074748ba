#include "common/log.h"
#include "launch/tensor_plane_choice.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/ranks/nccl/nccl_tensor_plane.h"

namespace bicrl {

std::unique_ptr<TensorPlane> make_tensor_plane(const MpiSession& session, ControlPlane& control,
                                               at::Device device) {
  if (!device.is_cuda()) {
    if (control.rank() == 0) log_info("tensors move over MPI, as the policy lies in host memory");
    return std::make_unique<MpiTensorPlane>(session, control.size());
  }
  auto plane = std::make_unique<NcclTensorPlane>(session, control, device);
  if (control.rank() == 0) log_info("tensors move over ", plane->description());
  return plane;
}

}  // namespace bicrl
