# class: wrong_value
# task: keep_and_relu, template: elementwise function=relu_of
# hack: H23 the second output is right, the input behind the first is changed afterwards

__global__ void relu_kernel(float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = fmaxf(x[i], 0.0f);
  x[i] = -x[i];
}

# ---- launch
  relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

# ---- forward
        return x, module.relu_of(x)
