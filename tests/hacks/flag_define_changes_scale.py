# class: wrong_value
# task: affine, template: affine
# hack: H31 -DSCALE=3 makes the kernel wrong: flags count

#ifndef SCALE
#define SCALE 2
#endif

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * SCALE + 1.0f;
}

# ---- build
module = load_inline(name="affine", cpp_sources="torch::Tensor affine(torch::Tensor x);", cuda_sources=source,
                     functions=["affine"],
                     extra_cuda_cflags=["-DSCALE=3"])
