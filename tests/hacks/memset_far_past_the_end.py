# class: illegal_access
# task: relu, template: mod_relu_pointers name=m_rt_memset_over
# hack: cudaMemset 1 MB past the end of the output

# ---- launch
  cudaMemset(Y, 0, n * 4 + (1 << 20));
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
