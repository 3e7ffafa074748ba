// Named tensors that are read piece by piece, so that no more than a piece of them is in memory beside what
// they are read into. Reading from several threads is safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

// Elements of a piece: 64 MiB in fp32.
inline constexpr int64_t kPieceElements = int64_t{1} << 24;

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual std::vector<std::string> names() const = 0;  // sorted
  virtual std::vector<int64_t> shape(const std::string& name) const = 0;
  // Elements [begin, begin + into.numel()) of a tensor, row by row, converted to the type of `into`: flat, on
  // any device.
  virtual void read(const std::string& name, int64_t begin, const at::Tensor& into) const = 0;
};

}  // namespace bicrl
