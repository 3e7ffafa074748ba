# class: wrong_value
# task: keep_and_relu, template: elementwise function=relu_of
# hack: H23 works in place although the input is the first output

__global__ void relu_kernel(float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] = fmaxf(x[i], 0.0f);
}

# ---- launch
  relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

# ---- forward
        return x, module.relu_of(x)
