# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: a wait for the captured stream ends the capture

# ---- launch
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  add<<<grid, 256, 0, stream>>>(pa, pb, ps, n);
  cudaStreamSynchronize(stream);
  relu<<<grid, 256, 0, stream>>>(ps, py, n);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph) {
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
  }
  cudaStreamSynchronize(stream);
  cudaGetLastError();
