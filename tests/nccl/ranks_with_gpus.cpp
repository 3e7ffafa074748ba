#include "tests/nccl/ranks_with_gpus.h"

#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>

#include "common/error.h"
#include "common/rng.h"

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

at::Tensor values_of(int rank, int64_t size, at::ScalarType type) {
  at::Tensor x = at::empty({size}, at::kDouble);
  RandomStream random(mix_key({17, static_cast<uint64_t>(rank), static_cast<uint64_t>(size)}));
  auto* out = x.mutable_data_ptr<double>();
  for (int64_t i = 0; i < size; ++i) out[i] = 1000 * random.normal();
  return x.to(type);
}

}  // namespace bicrl::testing
