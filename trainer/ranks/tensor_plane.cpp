#include "trainer/ranks/tensor_plane.h"

#include <ATen/ATen.h>

#include "common/error.h"
#include "trainer/ranks/tensor_checksum.h"

namespace bicrl {

void require_summable(const at::Tensor& tensor) {
  const auto type = tensor.scalar_type();
  if (type != at::kFloat && type != at::kDouble && type != at::kLong)
    throw Error(concat("cannot sum tensors of type ", tensor.dtype().name(), " over ranks"));
}

at::Tensor TensorPlane::checksum(const at::Tensor& values, int64_t bucket) {
  return tensor_checksum(values, bucket);
}

Transfer SingleProcessTensors::reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string&) {
  if (mine.data_ptr() != whole.data_ptr()) mine.copy_(whole);
  return {};
}

Transfer SingleProcessTensors::all_gather(at::Tensor mine, at::Tensor whole, const std::string&) {
  if (mine.data_ptr() != whole.data_ptr()) whole.copy_(mine);
  return {};
}

}  // namespace bicrl
