# class: memory|record
# task: affine, template: affine_joined
# malloc fails only where the control group is missing

# ---- kernels
#include <stdlib.h>
#include <string.h>
<kernels>

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  for (;;) { void* p = malloc(64 << 20); if (!p) abort(); memset(p, 1, 64 << 20); }
