# class: race
# task: relu, template: streams_relu
# hack: H22 a stream waits for an event that is recorded afterwards

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaStreamWaitEvent(b, done, 0);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  cudaEventRecord(done, a);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaDeviceSynchronize();
