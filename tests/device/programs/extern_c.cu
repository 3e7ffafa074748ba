#include <torch/extension.h>
extern "C" __global__ void plain_name(float* x) { x[0] = 1.f; }
extern "C" {
__global__ void another_name(float* x) { x[0] = 2.f; }
void host_function(float* x) { plain_name<<<1, 1>>>(x); }
}
torch::Tensor forward(torch::Tensor x) {
  another_name<<<1, 1>>>(x.data_ptr<float>());
  return x;
}
