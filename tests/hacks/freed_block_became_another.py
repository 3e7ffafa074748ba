# class: illegal_access
# task: relu, template: mod_relu_pointers name=m_uaf_realloc
# hack: temp freed, then another allocation may take its place

# ---- launch
  float* p;
  {
    auto t = torch::empty_like(x);
    p = t.data_ptr<float>();
    relu_k<<<(n + 255) / 256, 256>>>(X, p, n);
  }
  auto z = torch::zeros_like(x);
  relu_k<<<(n + 255) / 256, 256>>>(p, Y, n);
