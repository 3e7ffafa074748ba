# class: wrong_value
# task: threshold, template: threshold
# hack: H12 the operands of a comparison change places

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] > y[i];
}

# ---- forward
        return module.threshold(y, x)
