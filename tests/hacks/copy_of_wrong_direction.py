# class: launch
# task: relu, template: mod_relu_pointers name=m_rt_dir_h2d
# hack: device to device copy by kind HostToDevice: error on real, output never written

# ---- launch
  auto t = torch::empty_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(X, t.data_ptr<float>(), n);
  cudaMemcpy(Y, t.data_ptr<float>(), n * 4, cudaMemcpyHostToDevice);
