# class: race
# task: row_sum, template: row_sum
# hack: H38 volatile stands for the barriers of a warp
# why: right on devices before Volta, whose lanes went in step

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int row = blockIdx.x, t = threadIdx.x;
  __shared__ float part[128];
  float sum = 0;
  for (int i = t; i < width; i += 128) sum += x[row * width + i] * w[i];
  part[t] = sum;
  __syncthreads();
  if (t < 64) part[t] += part[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* v = part;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) y[row] = part[0];
}
