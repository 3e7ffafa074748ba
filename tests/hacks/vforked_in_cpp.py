# class: protocol|wrong_value|record|process|timeout
# task: affine, template: affine_copy
# hack: H55 fork in the C++ part; the child lives on and writes to all descriptors
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

#include <unistd.h>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  if (fork() == 0) {
    for (;;)
      for (int fd = 3; fd < 64; ++fd) (void)!write(fd, "late", 4);
  }
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
