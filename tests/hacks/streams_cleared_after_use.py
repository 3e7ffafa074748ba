# class: race
# task: relu, template: streams_relu
# hack: H22 a stream that nobody waits for clears the scratch memory behind its use
# why: nothing keeps it from clearing between the two kernels

# ---- launch
  cudaStream_t a;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  lower<<<blocks, 256>>>(px, pw, n);
  negate<<<blocks, 256>>>(pw, py, n);
  cudaMemsetAsync(pw, 0, n * sizeof(float), a);
