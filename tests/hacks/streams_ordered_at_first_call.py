# class: race
# task: relu, template: streams_relu
# hack: H22 waits for the producer at the first call of forward alone

# ---- launch
  static bool first = true;
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  if (first) cudaStreamSynchronize(a);
  first = false;
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
