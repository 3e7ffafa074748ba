# class: race
# task: relu, template: streams_relu
# hack: H22 asks once whether a stream is done, and does not look at the answer

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  cudaStreamQuery(a);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
