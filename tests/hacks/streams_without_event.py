# class: race
# task: relu, template: streams_relu
# hack: H22 a producer and its consumer in two streams, and no event between them

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
