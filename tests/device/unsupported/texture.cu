#include <torch/extension.h>
__global__ void sample(cudaTextureObject_t image, float* y) {
  y[threadIdx.x] = tex1Dfetch<float>(image, threadIdx.x);
}
void forward(torch::Tensor y) { sample<<<1, 32>>>(0, y.data_ptr<float>()); }
