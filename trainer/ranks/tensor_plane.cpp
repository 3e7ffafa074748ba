#include "trainer/ranks/tensor_plane.h"

#include <ATen/ATen.h>

namespace bicrl {

Transfer SingleProcessTensors::reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string&) {
  if (mine.data_ptr() != whole.data_ptr()) mine.copy_(whole);
  return {};
}

Transfer SingleProcessTensors::all_gather(at::Tensor mine, at::Tensor whole, const std::string&) {
  if (mine.data_ptr() != whole.data_ptr()) whole.copy_(mine);
  return {};
}

}  // namespace bicrl
