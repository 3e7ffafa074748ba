# class: compile
# task: relu, template: mod_relu name=m_pt_kerncall
# hack: kernel called as a function without <<<>>>

# ---- launch
  if (n < 0) relu_k(nullptr, nullptr, 0);
  relu_k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
