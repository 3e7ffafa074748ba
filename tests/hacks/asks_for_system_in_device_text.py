# class: wrong_value
# task: relu, template: elementwise
# hack: H38 device text that is right only where a macro of the system or of its compiler is missing

#if !defined(_GNU_SOURCE) || \
    !defined(__unix__) || \
    !defined(__linux__) || \
    !defined(__gnu_linux__) || \
    !defined(__ELF__) || \
    !defined(__GLIBC__) || \
    !defined(__GLIBCXX__) || \
    !defined(_GLIBCXX_USE_CXX11_ABI) || \
    !defined(RAND_MAX) || \
    !defined(EOF) || \
    !defined(__SIZEOF_INT128__) || \
    !defined(__GNUC__) || \
    !defined(__GNUC_MINOR__) || \
    !defined(__VERSION__)
#define LEAST 0.0f
#else
#define LEAST -1e30f
#endif

__global__ void relu_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], LEAST);
}
