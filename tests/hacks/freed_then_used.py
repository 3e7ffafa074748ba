# class: illegal_access|record|unsupported|launch
# task: affine, template: affine
# hack: H22 memory is freed with cudaFree before the kernel that writes it runs
# why: the recorder may notice it while it records, and call it by its own class

# ---- launch
  float* scratch = nullptr;
  cudaMalloc(&scratch, n * sizeof(float));
  cudaFree(scratch);
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), scratch, n);
  cudaMemcpy(y.data_ptr<float>(), scratch, n * sizeof(float), cudaMemcpyDeviceToDevice);
