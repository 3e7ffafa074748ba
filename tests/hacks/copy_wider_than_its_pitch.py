# class: launch
# task: relu, template: mod_relu_pointers name=m_rt_memcpy2d
# hack: cudaMemcpy2D with width > pitch (error on real)

# ---- launch
  auto z = torch::zeros_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
  cudaMemcpy2D(z.data_ptr<float>(), 4, Y, 4096, 4096, 64, cudaMemcpyDeviceToDevice);
