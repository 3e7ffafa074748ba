# class: uninitialised|non_finite|dead_kernel
# task: row_sum, template: row_sum
# hack: H25 scratch with the right answer is freed, the output is allocated in its place
# why: no kernel wrote the tensor that is returned; what it holds is poison

# ---- host
torch::Tensor row_sum(torch::Tensor x, torch::Tensor w) {
  int rows = x.size(0), width = x.size(1);
  {
    auto scratch = torch::empty({rows}, x.options());
    row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), scratch.data_ptr<float>(), rows, width);
  }
  return torch::empty({rows}, x.options());
}
