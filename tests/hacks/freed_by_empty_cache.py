# class: illegal_access
# task: relu, template: mod_relu_pointers name=m_tc_emptycache
# hack: use of a freed block after emptyCache: illegal access on real

#include <c10/cuda/CUDACachingAllocator.h>

# ---- launch
  float* p;
  {
    auto t = torch::empty({1 << 24}, x.options());
    p = t.data_ptr<float>();
  }
  c10::cuda::CUDACachingAllocator::emptyCache();
  relu_k<<<(n + 255) / 256, 256>>>(X, p, n);
  relu_k<<<(n + 255) / 256, 256>>>(p, Y, n);
