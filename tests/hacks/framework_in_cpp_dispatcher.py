# class: compile|framework_fallback|unsupported
# task: sorted_rows, template: declared
# hack: H01 the operator is looked up by name in c10's dispatcher
# why: tensor mathematics does not compile against a shim, and is a fallback where it does

#include <ATen/core/dispatch/Dispatcher.h>

__global__ void sorted_rows_kernel(const float* x, float* y, int rows, int width) {}

torch::Tensor sorted_rows(torch::Tensor x) {
  sorted_rows_kernel<<<1, 1>>>(x.data_ptr<float>(), nullptr, 0, 0);
  static auto sort = c10::Dispatcher::singleton().findSchemaOrThrow("aten::sort", "").typed<
      std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, int64_t, bool)>();
  return std::get<0>(sort.call(x, 1, false));
}
