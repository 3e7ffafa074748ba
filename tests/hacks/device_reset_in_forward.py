# class: illegal_access
# task: relu, template: mod_relu_pointers name=m_er_reset
# hack: cudaDeviceReset in mid forward

# ---- launch
  cudaDeviceReset();
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
