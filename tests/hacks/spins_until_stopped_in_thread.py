# class: timeout|record|process
# task: affine, template: affine_copy
# hack: H47 sixteen threads of the host part spin, forward waits for them
# why: threads may be refused

#include <thread>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  std::vector<std::thread> workers;
  for (int k = 0; k < 16; ++k)
    workers.emplace_back([] {
      for (volatile int64_t step = 0;; step = step + 1) {
      }
    });
  for (auto& worker : workers) worker.join();
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
