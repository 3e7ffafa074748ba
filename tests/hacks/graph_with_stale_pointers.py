# class: wrong_value|unsupported|record|uninitialised|non_finite
# task: affine, template: affine
# hack: H39 a graph captured for zeros is replayed for the input
# why: capturing may not be offered

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto other = torch::zeros_like(x), y = torch::empty_like(x);
  int n = x.numel();
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  affine_kernel<<<(n + 255) / 256, 256, 0, stream>>>(other.data_ptr<float>(), y.data_ptr<float>(), n);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&replay, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(replay, stream);
  cudaStreamSynchronize(stream);
  return y;
}
