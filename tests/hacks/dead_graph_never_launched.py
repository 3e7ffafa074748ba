# class: uninitialised|non_finite|dead_kernel|unsupported|record
# task: affine, template: affine
# hack: H39 the launch is captured in a graph that nobody launches
# why: nothing ran: the output is poison; capturing may not be offered

# ---- launch
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  affine_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaGraph_t graph;
  cudaStreamEndCapture(stream, &graph);
