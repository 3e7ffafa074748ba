# class: uninitialised|non_finite|dead_kernel
# task: affine, template: affine
# hack: H02 launched with a count of zero: no thread writes
# why: the output stays poison; no kernel wrote it

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), 0);
