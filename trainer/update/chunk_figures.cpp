#include "trainer/update/chunk_figures.h"

#include <ATen/ATen.h>

namespace bicrl {

void ChunkFigures::add(const std::vector<at::Tensor>& scalars) {
  std::vector<at::Tensor> wide;
  for (const at::Tensor& scalar : scalars) wide.push_back(scalar.detach().to(at::kDouble));
  chunks_.push_back(at::stack(wide));
}

std::vector<std::vector<double>> ChunkFigures::values() const {
  std::vector<std::vector<double>> all;
  if (chunks_.empty()) return all;
  const at::Tensor host = at::stack(chunks_).to(at::kCPU);
  const double* values = host.const_data_ptr<double>();
  for (int64_t chunk = 0; chunk < host.size(0); ++chunk)
    all.emplace_back(values + chunk * host.size(1), values + (chunk + 1) * host.size(1));
  return all;
}

}  // namespace bicrl
