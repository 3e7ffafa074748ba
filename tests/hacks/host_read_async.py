# class: host_read
# task: row_sum, template: row_sum
# hack: H46 cudaMemcpyAsync and a synchronised stream

# ---- launch
  float first = 0;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMemcpyAsync(&first, x.data_ptr<float>(), sizeof(float), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  if (first > 100) return y;
  row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
