// Values of an update's figures in the chunks of its passes. They stay on the policy's device until they are
// asked for, so that no chunk waits for the one before it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "trainer/update/update_figures.h"

namespace bicrl {

class ChunkFigures {
 public:
  // `rows` of the table that every chunk has a value for.
  explicit ChunkFigures(std::vector<UpdateRow> rows, size_t objective_figures = 0);
  // A scalar of any type for each of the rows, then for each of the objective's.
  void add(const std::vector<at::Tensor>& scalars);
  // Into the step's totals, in the order of the chunks; waits for the device.
  void add_to(UpdateTotals& totals) const;

 private:
  std::vector<size_t> rows_;
  std::vector<at::Tensor> chunks_;  // each [scalars] fp64
};

}  // namespace bicrl
