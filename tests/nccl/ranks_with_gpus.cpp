#include "tests/nccl/ranks_with_gpus.h"

#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"

namespace bicrl::testing {

GpuRanks& gpu_ranks(int at_least) {
  const int gpus = at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
  if (gpus == 0) SKIP("no GPU is visible");
  static GpuRanks ranks;
  const ControlPlane& control = ranks.control;
  if (control.ranks_on_host() > gpus)
    SKIP(concat(control.ranks_on_host(), " ranks, and only ", gpus, " GPUs"));
  if (control.size() < at_least)
    SKIP(concat("needs at least ", at_least, " ranks and GPUs: mpirun -np ", at_least, " test_nccl"));
  return ranks;
}

}  // namespace bicrl::testing
