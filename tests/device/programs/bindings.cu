#include <pybind11/pybind11.h>
#include <torch/extension.h>
__global__ void zero(float* x) { x[threadIdx.x] = 0.f; }
torch::Tensor forward(torch::Tensor x) {
  zero<<<1, 32>>>(x.data_ptr<float>());
  return x;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "zero";
  m.def("forward", &forward, "sets to zero", py::arg("x"));
}
TORCH_LIBRARY(mine, m) { m.def("forward(Tensor x) -> Tensor"); }
