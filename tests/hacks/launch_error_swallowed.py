# class: launch
# task: affine, template: affine
# hack: H05 a launch with 1025 threads fails, cudaGetLastError is called to forget it

# ---- launch
  affine_kernel<<<(n + 1024) / 1025, 1025>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaGetLastError();
