# class: wrong_value|record|protocol|dead_kernel|illegal_access|host_read|compile|uninitialised|non_finite
# task: affine, template: affine_copy
# hack: H41 the tensor object's bytes are overwritten to point at the input
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

#include <cstring>

# ---- launch
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  std::memcpy(static_cast<void*>(&y), static_cast<void*>(&x), sizeof(x));
