# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: a launch into the legacy stream ends the capture of a blocking one; the graph is none

# ---- launch
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  add<<<grid, 256>>>(pa, pb, ps, n);
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
