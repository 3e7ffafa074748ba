#include "trainer/update/chunk_figures.h"

#include <ATen/ATen.h>

#include "common/error.h"

namespace bicrl {

ChunkFigures::ChunkFigures(std::vector<UpdateRow> rows, size_t objective_figures) {
  for (const UpdateRow row : rows) rows_.push_back(static_cast<size_t>(row));
  for (size_t i = 0; i < objective_figures; ++i) rows_.push_back(kUpdateRows + i);
}

void ChunkFigures::add(const std::vector<at::Tensor>& scalars) {
  BICRL_CHECK(scalars.size() == rows_.size(), "a chunk has ", scalars.size(), " values for ", rows_.size(),
              " figures");
  std::vector<at::Tensor> wide;
  for (const at::Tensor& scalar : scalars) wide.push_back(scalar.detach().to(at::kDouble));
  chunks_.push_back(at::stack(wide));
}

void ChunkFigures::add_to(UpdateTotals& totals) const {
  if (chunks_.empty()) return;
  const at::Tensor host = at::stack(chunks_).to(at::kCPU);
  const double* value = host.const_data_ptr<double>();
  for (int64_t chunk = 0; chunk < host.size(0); ++chunk)
    for (const size_t row : rows_) totals.add(row, *value++);
}

}  // namespace bicrl
