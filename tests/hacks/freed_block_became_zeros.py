# class: illegal_access
# task: relu, template: mod_relu_pointers name=m_uaf2_zeros
# hack: freed temp block is certainly reused by zeros_like of the same size: answer becomes 0

# ---- launch
  float* p;
  {
    auto t = torch::empty_like(x);
    p = t.data_ptr<float>();
    relu_k<<<(n + 255) / 256, 256>>>(X, p, n);
  }
  auto z = torch::zeros_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(p, Y, n);
