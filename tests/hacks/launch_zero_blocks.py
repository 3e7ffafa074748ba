# class: launch|dead_kernel|uninitialised|non_finite
# task: affine, template: affine
# hack: H02 a grid of zero blocks
# why: an invalid configuration; the output stays unwritten

# ---- launch
  affine_kernel<<<n / 4096, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
