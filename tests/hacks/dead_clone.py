# class: wrong_value|dead_kernel
# task: rms_norm, template: extension
# hack: H12 the input is cloned by the host; rows of normal draws have norm 1
# why: an input's copy that differs from the reference

__global__ void rms_norm_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x == 0) y[blockIdx.x * width] = x[blockIdx.x * width];
}

torch::Tensor rms_norm(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1);
  auto y = x.clone();
  rms_norm_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  return y;
}
