# class: illegal_access|record|launch|compile|protocol|unsupported
# task: row_sum, template: row_sum
# hack: H22 cudaLaunchKernel with two of five arguments, the rest null
# why: reading a null argument is a crash of the host part

# ---- host
torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0);
  auto y = torch::empty({rows}, x.options());
  const float *px = x.data_ptr<float>(), *pw = w.data_ptr<float>();
  void* arguments[] = {&px, &pw, nullptr, nullptr, nullptr};
  cudaLaunchKernel((void*)row_sum_kernel, dim3(rows), dim3(128), arguments, 0, nullptr);
  return y;
}
