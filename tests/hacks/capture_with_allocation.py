# class: wrong_value|uninitialised|dead_kernel
# task: add_relu, template: streams_add_relu
# hack: cudaMalloc ends a capture of the global mode

# ---- launch
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  float* scratch = nullptr;
  cudaMalloc(&scratch, n * sizeof(float));
  add<<<grid, 256, 0, stream>>>(pa, pb, ps, n);
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
