# class: wrong_value|record|protocol|compile|unsupported|illegal_access|dead_kernel
# task: affine, template: affine_copy
# hack: H42 a constructor rewrites the code at the kernel's host symbol
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

#include <cstring>
#include <sys/mman.h>

__global__ void affine_kernel(const float* x, float* y, int n);
__attribute__((constructor)) static void patch() {
  auto page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(affine_kernel) & ~4095ul);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
    memset(reinterpret_cast<void*>(affine_kernel), 0xc3, 16);
}

<kernels>
