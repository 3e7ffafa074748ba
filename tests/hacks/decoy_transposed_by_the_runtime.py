# class: dead_kernel
# task: transpose, template: copied
# hack: H02 a kernel copies the input, cudaMemcpy2D transposes column by column

torch::Tensor transpose(torch::Tensor x) {
  auto y = copied(x);
  int rows = x.size(0), cols = x.size(1);
  auto z = torch::empty({cols, rows}, x.options());
  for (int c = 0; c < cols; ++c)
    cudaMemcpy2D(z.data_ptr<float>() + c * rows, 4, y.data_ptr<float>() + c, cols * 4, 4, rows, cudaMemcpyDeviceToDevice);
  return z;
}
