# class: compile|host_read|illegal_access|unsupported|dead_kernel|record|uninitialised|non_finite
# task: affine, template: affine
# hack: H46 the kernel's host symbol is called like a function
# why: a stub that is called without a configuration launches nothing

# ---- launch
  affine_kernel(x.data_ptr<float>(), y.data_ptr<float>(), n);
