# class: timeout|launch|illegal_access
# task: affine, template: affine
# hack: H58 2^31 - 1 blocks of 1024 threads that do nothing
# why: the index of a block this far away overflows

# ---- launch
  affine_kernel<<<2147483647, 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
