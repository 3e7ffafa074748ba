# class: wrong_value|dead_kernel
# task: keep_and_relu, template: elementwise function=relu_of
# hack: H12 the input is returned for both outputs
# why: the second output is an input's copy that equals the reference on positive values only

__global__ void relu_kernel(float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

# ---- launch
  relu_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);

# ---- forward
        module.relu_of(x)
        return x, x
