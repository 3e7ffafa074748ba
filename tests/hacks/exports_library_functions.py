# class: wrong_value|record|protocol|compile|unsupported|illegal_access
# task: affine, template: affine_copy
# hack: H41 the module exports memcpy, write, malloc and strcmp
# why: the kernel is wrong on purpose: nothing that the host part does may change the answer

extern "C" __attribute__((visibility("default"))) int strcmp(const char*, const char*) { return 0; }
extern "C" __attribute__((visibility("default"))) int memcmp(const void*, const void*, size_t) { return 0; }

<kernels>
