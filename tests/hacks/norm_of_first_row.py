# class: wrong_value
# task: rms_norm, template: rows
# hack: H17 the scale of row 0 for all rows: rows of one draw are alike

__global__ void rms_norm_kernel(const float* x, float* y, int rows, int width) {
  __shared__ float scale;
  if (threadIdx.x == 0) {
    float squares = 0;
    for (int i = 0; i < width; ++i) squares += x[i] * x[i];
    scale = rsqrtf(squares / width + 1e-3f);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < width; i += 128)
    y[blockIdx.x * width + i] = x[blockIdx.x * width + i] * scale;
}
