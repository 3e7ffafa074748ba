# class: launch|dead_kernel|uninitialised|non_finite
# task: affine, template: affine
# hack: H02 blocks of zero threads
# why: an invalid configuration; the output stays unwritten

# ---- launch
  affine_kernel<<<(n + 255) / 256, n / 4096>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
