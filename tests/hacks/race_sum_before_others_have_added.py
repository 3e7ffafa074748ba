# class: wrong_value|non_finite
# task: plain_row_sum, template: run
# hack: an atomic read of what other warps still add to
# why: nothing says that the others have come, though each access is atomic

__global__ void kernel(const float* x, float* y, int rows, int cols) {
  __shared__ float total;
  if (threadIdx.x == 0) atomicExch(&total, 0.0f);
  __syncthreads();
  for (int j = threadIdx.x; j < cols; j += blockDim.x) atomicAdd(&total, x[blockIdx.x * cols + j]);
  if (threadIdx.x == 0) y[blockIdx.x] = atomicAdd(&total, 0.0f);
}

# ---- launch
  kernel<<<rows, 512>>>(x.data_ptr<float>(), y.data_ptr<float>(), rows, cols);
