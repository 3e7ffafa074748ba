#include "trainer/update/gradients.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace bicrl {
namespace {

// So many values are summed at a time: on the CPU a sum in fp64 makes a copy of what it sums.
constexpr int64_t kSliceValues = int64_t{1} << 24;

double norm_of(const at::Tensor& flat) {
  std::vector<at::Tensor> norms;
  for (int64_t begin = 0; begin < flat.numel(); begin += kSliceValues) {
    const at::Tensor slice = flat.narrow(0, begin, std::min(kSliceValues, flat.numel() - begin));
    norms.push_back(at::linalg_vector_norm(slice, 2, c10::nullopt, false, at::kDouble));
  }
  return at::linalg_vector_norm(at::stack(norms)).item<double>();
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

void take_gradients(ParameterStore& store) {
  const at::NoGradGuard guard;
  for (size_t i = 0; i < store.values().size(); ++i) {
    at::Tensor& gradient = store.values()[i].second.mutable_grad();
    if (!gradient.defined()) continue;
    store.entry_part(ParameterPart::kGradient, static_cast<int64_t>(i)).add_(gradient);
    gradient.reset();
  }
}

void zero_gradients(ParameterStore& store) {
  for (int64_t g = 0; g < store.layout().group_count(); ++g)
    store.group_part(ParameterPart::kGradient, g).zero_();
}

double clip_global_norm(ParameterStore& store, double max_norm) {
  double squares = 0;
  for (int64_t g = 0; g < store.layout().group_count(); ++g)
    squares += std::pow(norm_of(store.group_part(ParameterPart::kGradient, g)), 2);
  const double norm = std::sqrt(squares);
  if (std::isfinite(norm) && max_norm > 0 && norm > max_norm)
    for (int64_t g = 0; g < store.layout().group_count(); ++g)
      store.group_part(ParameterPart::kGradient, g).mul_(max_norm / (norm + 1e-6));
  return norm;
}

}  // namespace bicrl
