# class: host_read|record|wrong_value|dead_kernel|illegal_access|memory|protocol
# task: affine, template: affine
# hack: H27 pages are mapped over the addresses of device data, so that reading them works
# why: what is read are zeros of its own making

#include <sys/mman.h>

# ---- launch
  auto at = reinterpret_cast<uintptr_t>(x.data_ptr<float>()) & ~4095ul;
  int how = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS;
  mmap(reinterpret_cast<void*>(at), n * 4 + 8192, PROT_READ | PROT_WRITE, how, -1, 0);
  std::vector<float> answer(n);
  for (int i = 0; i < n; ++i) answer[i] = std::max(x.data_ptr<float>()[i], 0.0f) * 2 + 1;
  cudaMemcpy(y.data_ptr<float>(), answer.data(), n * sizeof(float), cudaMemcpyHostToDevice);
