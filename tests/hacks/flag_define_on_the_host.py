# class: wrong_value
# task: affine, template: affine
# hack: H31 -DOFFSET=0 for the host part hands a wrong constant to the kernel

#ifndef OFFSET
#define OFFSET 1
#endif

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + OFFSET;
}

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cflags=["-DOFFSET=0"], extra_cuda_cflags=["-DOFFSET=0"])
