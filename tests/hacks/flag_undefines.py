# class: wrong_value|unsupported|compile
# task: affine, template: affine
# hack: H31 -U takes away what the text relies on
# why: -U may be refused

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef RIGHT
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
#else
  if (i < n) y[i] = x[i];
#endif
}

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=["-DRIGHT", "-URIGHT"])
