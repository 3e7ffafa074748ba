# class: wrong_value|dead_kernel
# task: softmax, template: softmax
# hack: H03 the kernel answers, then the host clears the last row
# why: a fill that differs from the reference

# ---- launch
  softmax_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  cudaMemset(y.data_ptr<float>() + (rows - 1) * width, 0, width * sizeof(float));
