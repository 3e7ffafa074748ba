# class: race
# task: relu, template: streams_relu
# hack: H22 a graph of two streams in which the consumer does not wait for the producer

# ---- launch
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEvent_t joined;
  cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(done, a);
  cudaStreamWaitEvent(b, done, 0);
  lower<<<blocks, 256, 0, a>>>(px, pw, n);
  negate<<<blocks, 256, 0, b>>>(pw, py, n);
  cudaEventRecord(joined, b);
  cudaStreamWaitEvent(a, joined, 0);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamEndCapture(a, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, a);
  cudaDeviceSynchronize();
