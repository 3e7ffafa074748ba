# class: race
# task: row_sum, template: row_sum
# hack: H38 a tree of sums whose steps no barrier separates
# why: right where all threads take each step together

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  int row = blockIdx.x, t = threadIdx.x;
  __shared__ float part[128];
  float sum = 0;
  for (int i = t; i < width; i += 128) sum += x[row * width + i] * w[i];
  part[t] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    float other = t < s ? part[t + s] : 0.0f;
    part[t] += other;
  }
  if (t == 0) y[row] = part[0];
}
