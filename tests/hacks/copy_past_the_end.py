# class: illegal_access|record|dead_kernel|uninitialised|non_finite
# task: affine, template: affine
# hack: H22 cudaMemcpy copies one element more than the output holds
# why: the runtime returns an error, which the program ignores: nothing is copied, if the run does not end there

# ---- launch
  auto scratch = torch::empty({n + 1}, x.options());
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), scratch.data_ptr<float>(), n);
  cudaMemcpy(y.data_ptr<float>(), scratch.data_ptr<float>(), (n + 1) * sizeof(float), cudaMemcpyDeviceToDevice);
