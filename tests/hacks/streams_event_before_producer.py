# class: race
# task: relu, template: streams_relu
# hack: H22 the event that the consumer waits for is recorded before the producer

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, a);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  cudaStreamWaitEvent(b, done, 0);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
