# class: launch
# task: relu, template: mod_relu_pointers name=m_er_thenzeros
# hack: error left by cudaSetDevice(1), then torch::zeros (its launch check raises on real)

# ---- launch
  cudaSetDevice(1);
  auto z = torch::zeros_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
