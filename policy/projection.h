// One linear map of a layer: its weight and, if it has one, the low-rank adapter beside it (lora_config.h).
// Refers to memory of parameter stores. Thread-safe as long as nobody changes that.
#pragma once
#include <ATen/core/Tensor.h>

namespace bicrl {

struct Projection {
  at::Tensor weight;          // [out, in]
  at::Tensor lora_a, lora_b;  // [rank, in], [out, rank]; undefined: no adapter
  double scaling = 1;

  // x: [rows, in] -> x W^T + scaling (x A^T) B^T, [rows, out]. The same function generates and trains.
  at::Tensor operator()(const at::Tensor& x) const;
  // [out, in]: W + scaling B A, computed in fp32 (fp64 for a weight of fp64) and rounded once to the weight's
  // type. The live weight if there is no adapter.
  at::Tensor merged() const;
};

}  // namespace bicrl
