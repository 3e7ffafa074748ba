# class: illegal_access|record
# task: row_sum, template: row_sum
# hack: H54 cudaMemset clears far more than the buffer
# why: the call fails and the check raises, or the machine refuses the range

# ---- launch
  TORCH_CHECK(cudaMemset(y.data_ptr<float>(), 0, 1 << 24) == cudaSuccess, "refused");
  row_sum_kernel<<<rows, 128>>>(x.data_ptr<float>(), w.data_ptr<float>(), y.data_ptr<float>(), rows, width);
