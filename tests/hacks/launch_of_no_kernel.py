# class: launch|record|unsupported|protocol|illegal_access|compile|uninitialised|dead_kernel
# task: row_sum, template: row_sum
# hack: H22 cudaLaunchKernel with the address of a host function
# why: an invalid device function: an error that the program ignores, so that nothing writes the output

# ---- host
static void not_a_kernel() {}

torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0);
  auto y = torch::empty({rows}, x.options());
  void* arguments[] = {nullptr};
  cudaLaunchKernel((void*)not_a_kernel, dim3(rows), dim3(128), arguments, 0, nullptr);
  return y;
}
