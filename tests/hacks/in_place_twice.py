# class: wrong_value
# task: in_place, template: declared
# hack: H23 the tensor is updated twice

__global__ void in_place_kernel(float* x, const float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * 2 + y[i];
}

torch::Tensor in_place(torch::Tensor x, torch::Tensor y) {
  int n = x.numel();
  in_place_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  in_place_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return x;
}
