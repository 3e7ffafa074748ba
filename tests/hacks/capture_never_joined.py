# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: a second stream joins the capture by an event and is not joined back

# ---- launch
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaStream_t other;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEvent_t forked;
  cudaEventCreate(&forked);
  add<<<grid, 256, 0, stream>>>(pa, pb, ps, n);
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(other, forked, 0);
  relu<<<grid, 256, 0, other>>>(ps, py, n);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph) {
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
  }
  cudaStreamSynchronize(stream);
  cudaGetLastError();
