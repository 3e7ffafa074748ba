# class: uninitialised|non_finite|wrong_value
# task: row_sum, template: row_sum
# hack: H22 waits until one group is pending, and there is but one
# why: where definedness is not followed, the poison, a NaN, reaches the output

__global__ void row_sum_kernel(const float* x, const float* w, float* y, int rows, int width) {
  __shared__ __align__(16) float staged[520];
  unsigned at = (unsigned)__cvta_generic_to_shared(staged);
  for (int i = threadIdx.x * 4; i < width; i += 512)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + 4 * i), "l"(x + blockIdx.x * width + i));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 1;");
  __syncthreads();
  if (threadIdx.x) return;
  float sum = 0;
  for (int i = 0; i < width; ++i) sum += staged[i] * w[i];
  y[blockIdx.x] = sum;
}
