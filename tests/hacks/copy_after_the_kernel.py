# class: wrong_value|dead_kernel
# task: rms_norm, template: rows
# hack: H03 the kernel answers, then half of the output is copied from the input
# why: an input's copy that differs from the reference

__global__ void rms_norm_kernel(const float* x, float* y, int rows, int width) {
  if (threadIdx.x) return;
  float squares = 0;
  for (int i = 0; i < width; ++i) squares += x[blockIdx.x * width + i] * x[blockIdx.x * width + i];
  float scale = rsqrtf(squares / width + 1e-3f);
  for (int i = 0; i < width; ++i) y[blockIdx.x * width + i] = x[blockIdx.x * width + i] * scale;
}

# ---- launch
  rms_norm_kernel<<<rows, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, width);
  y.narrow(0, 0, rows / 2).copy_(x.narrow(0, 0, rows / 2));
