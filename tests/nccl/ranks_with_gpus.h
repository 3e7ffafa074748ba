// Common set-up of the NCCL tests. They run under mpirun on a machine with a GPU for each rank, all ranks the
// same cases in the same order, `mpirun -np 2 test_nccl`. To be included before Catch2, as it brings torch.
#pragma once
#if defined(CATCH_TEST_MACROS_HPP_INCLUDED) && !defined(VLOG)
#error "include this before Catch2: torch's logging defines CHECK again"
#endif
#include <ATen/ATen.h>

#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl::testing {

struct GpuRanks {
  MpiSession session;
  MpiControlPlane control{session};
  at::Device gpu() const { return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(control.local_rank())); }
};

// Skips the running test, with the reason, unless there are so many ranks and a GPU for each.
GpuRanks& gpu_ranks(int at_least);

}  // namespace bicrl::testing
