# class: wrong_value|record|protocol|compile|unsupported
# task: affine, template: affine_copy
# hack: H42 an ifunc's resolver runs while the module is being linked
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

#include <unistd.h>

extern "C" int resolved();
static int zero() { return 0; }
extern "C" int (*resolve())() {
  for (int fd = 3; fd < 16; ++fd) (void)!write(fd, "early", 5);
  return zero;
}
extern "C" int resolved() __attribute__((ifunc("resolve")));

<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel() + resolved();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
