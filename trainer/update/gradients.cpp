#include "trainer/update/gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace bicrl {
namespace {

// So many values are summed at a time: on the CPU a sum in fp64 makes a copy of what it sums.
constexpr int64_t kSummedValues = int64_t{1} << 24;

// A scalar on the tensor's device.
at::Tensor norm_of(const at::Tensor& flat) {
  std::vector<at::Tensor> norms;
  for (int64_t begin = 0; begin < flat.numel(); begin += kSummedValues) {
    const at::Tensor slice = flat.narrow(0, begin, std::min(kSummedValues, flat.numel() - begin));
    norms.push_back(at::linalg_vector_norm(slice, 2, c10::nullopt, false, at::kDouble));
  }
  return at::linalg_vector_norm(at::stack(norms));
}

}  // namespace

GradientScope::GradientScope(ParameterStore& store) : store_(store) {
  for (const auto& [name, parameter] : store_.values()) parameter.set_requires_grad(true);
}

GradientScope::~GradientScope() {
  for (const auto& [name, parameter] : store_.values()) {
    parameter.mutable_grad().reset();
    parameter.set_requires_grad(false);
  }
}

double clip_global_norm(ParameterStore& store, double max_norm, PartExtent summed, ControlPlane& control) {
  const int64_t groups = store.layout().group_count(), shards = store.shard().count;
  // By shard and group, whoever computes it, so that the norm does not depend on who holds what.
  const bool whole = summed == PartExtent::kWhole;
  const int64_t first = whole ? 0 : store.shard().rank, end = whole ? shards : first + 1;
  std::vector<at::Tensor> norms;
  for (int64_t shard = first; shard < end; ++shard)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t size = store.shard_size(g);
      norms.push_back(
          norm_of(whole ? store.group_part(ParameterPart::kGradient, g).narrow(0, shard * size, size)
                        : store.my_part(ParameterPart::kGradient, g)));
    }
  const at::Tensor on_host = at::stack(norms).to(at::kCPU);  // the only wait for a device
  const double* next = on_host.const_data_ptr<double>();
  std::vector<std::vector<double>> squares(static_cast<size_t>(shards));
  for (int64_t shard = first; shard < end; ++shard)
    for (int64_t g = 0; g < groups; ++g) squares[static_cast<size_t>(shard)].push_back(std::pow(*next++, 2));
  if (!whole) {
    const std::vector<double>& mine = squares[static_cast<size_t>(store.shard().rank)];
    const auto all =
        control.all_gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)});
    for (size_t shard = 0; shard < squares.size(); ++shard) {
      squares[shard].resize(static_cast<size_t>(groups));
      BICRL_CHECK(all[shard].size() == squares[shard].size() * sizeof(double));
      memcpy(squares[shard].data(), all[shard].data(), all[shard].size());
    }
  }
  double sum = 0;
  for (size_t g = 0; g < static_cast<size_t>(groups); ++g)
    for (const std::vector<double>& shard : squares) sum += shard[g];
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm) || max_norm == 0 || norm <= max_norm) return norm;
  for (int64_t g = 0; g < groups; ++g)
    (whole ? store.group_part(ParameterPart::kGradient, g) : store.my_part(ParameterPart::kGradient, g))
        .mul_(max_norm / (norm + 1e-6));
  return norm;
}

}  // namespace bicrl
