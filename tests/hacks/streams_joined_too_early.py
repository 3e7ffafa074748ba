# class: race
# task: relu, template: streams_relu
# hack: H22 the host waits for the consumer's stream between producer and consumer, not for the producer's

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  cudaStreamSynchronize(b);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
