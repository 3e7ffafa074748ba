# class: wrong_value|record|protocol|compile|unsupported|uninitialised|non_finite|dead_kernel
# task: affine, template: affine_copy
# hack: H41 the module exports cudaLaunchKernel and its relatives
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

extern "C" __attribute__((visibility("default"))) int cudaLaunchKernelExC(const void*, const void*, void**) {
  return 0;
}
extern "C" __attribute__((visibility("default"))) int __cudaPushCallConfiguration(...) { return 0; }

<kernels>
