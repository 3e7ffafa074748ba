# class: correct|illegal_access|unsupported|library_call
# task: affine, template: affine_joined
# a library that is only opened computes nothing: the executor runs the kernels alone

# ---- kernels
#include <dlfcn.h>
<kernels>

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  if (!dlopen("libcublas.so.13", RTLD_NOW)) throw 1;
