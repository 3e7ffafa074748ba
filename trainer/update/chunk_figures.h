// Figures of the chunks of an update's passes. They stay on the policy's device until they are asked for, so
// that no chunk waits for the one before it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace bicrl {

class ChunkFigures {
 public:
  // Scalars of any type, as many for every chunk.
  void add(const std::vector<at::Tensor>& scalars);
  // Of each chunk in the order of add(); waits for the device.
  std::vector<std::vector<double>> values() const;

 private:
  std::vector<at::Tensor> chunks_;  // each [scalars] fp64
};

}  // namespace bicrl
