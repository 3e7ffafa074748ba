# class: uninitialised|non_finite
# task: affine, template: affine
# hack: H16 only whole blocks: the tail is as it was allocated
# why: where definedness is not followed, the poison, a NaN, reaches the output

# ---- launch
  affine_kernel<<<n / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
