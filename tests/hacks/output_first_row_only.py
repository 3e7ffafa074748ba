# class: uninitialised|non_finite
# task: softmax, template: softmax
# hack: H16 one block is launched: row 0
# why: where definedness is not followed, the poison, a NaN, reaches the output

# ---- launch
  softmax_kernel<<<1, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
