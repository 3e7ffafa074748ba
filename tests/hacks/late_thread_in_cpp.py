# class: protocol|wrong_value|record|dead_kernel
# task: affine, template: affine_copy
# hack: H34 a detached thread writes to the channel and to the trace's buffers after forward has returned
# why: the kernel is wrong on purpose: if nobody listens to the forged bytes, that is the verdict

#include <chrono>
#include <thread>
#include <unistd.h>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int fd = 3; fd < 64; ++fd) (void)!write(fd, "late", 4);
  }).detach();
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
