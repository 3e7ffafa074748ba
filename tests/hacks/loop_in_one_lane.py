# class: timeout|uninitialised
# task: affine, template: affine
# hack: H58 one lane of one block never ends
# why: on a run that looks for it, what the loop waits for was never written

__global__ void affine_kernel(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
  if (i == 777)
    while (*(volatile float*)y != -5.0f) {
    }
}
