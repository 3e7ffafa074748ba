# class: host_read
# task: channel_mean, template: declared
# hack: H46 launches until a flag that the host reads says that it is done
# why: sound, but its launches depend on data that the host part cannot have

__global__ void channel_mean_kernel(const float* x, float* y, int* done, int width, int step) {
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < width; ++i) sum += x[blockIdx.x * width + i];
    y[blockIdx.x] = sum / width;
    if (step == 3) *done = 1;
  }
}

torch::Tensor channel_mean(torch::Tensor x) {
  int rows = x.size(0), width = x.size(1), host = 0;
  auto y = torch::empty({rows}, x.options());
  auto done = torch::zeros({1}, x.options().dtype(torch::kInt));
  for (int step = 0; !host; ++step) {
    channel_mean_kernel<<<rows, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), done.data_ptr<int>(), width, step);
    cudaMemcpy(&host, done.data_ptr<int>(), sizeof(int), cudaMemcpyDeviceToHost);
  }
  return y;
}
