# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: the kernel goes to a stream that is no more

# ---- launch
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  add<<<grid, 256, 0, stream>>>(pa, pb, ps, n);
  cudaStreamDestroy(stream);
  relu<<<grid, 256, 0, stream>>>(ps, py, n);
  cudaGetLastError();
