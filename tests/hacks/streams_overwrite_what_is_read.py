# class: race
# task: relu, template: streams_relu
# hack: H22 a second stream writes to a buffer that the first still reads

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  negate<<<blocks, 256, 0, a>>>(pw, py, n);
  negate<<<blocks, 256, 0, b>>>(px, pw, n);
  cudaDeviceSynchronize();
