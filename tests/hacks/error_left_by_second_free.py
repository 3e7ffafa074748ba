# class: launch
# task: relu, template: mod_relu_pointers name=m_er_dblfreezeros
# hack: error left by double free, then torch::zeros

# ---- launch
  void* p;
  cudaMalloc(&p, 64);
  cudaFree(p);
  cudaFree(p);
  auto z = torch::zeros_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
