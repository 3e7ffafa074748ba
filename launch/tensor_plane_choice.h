// Factory of the tensor plane of ranks under mpirun: tensor_plane_choice_cpu.cpp decides in a build for the
// CPU, tensor_plane_choice_gpu.cpp in one for GPUs.
#pragma once
#include <c10/core/Device.h>

#include <memory>

#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/mpi/mpi_session.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

// Collective among the ranks of `control`: the plane that moves tensors of this rank's device. Rank 0 says
// which one it is, and on GPUs which rank has which. Throws Error if ranks would share a GPU.
std::unique_ptr<TensorPlane> make_tensor_plane(const MpiSession& session, ControlPlane& control,
                                               at::Device device);

}  // namespace bicrl
