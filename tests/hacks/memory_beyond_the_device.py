# class: memory
# task: relu, template: mod_relu_pointers name=m_alloc200g
# hack: torch::empty of 200 GB

# ---- launch
  auto t = torch::empty({50ll << 30}, x.options());
  relu_k<<<(n + 255) / 256, 256>>>(X, Y, n);
