# class: wrong_value
# task: largest_of_many, template: largest_of_many
# hack: H14 one element is left out
# why: no draw need have its largest or smallest element there

__global__ void reduce_kernel(const float* x, float* y, int n) {

# ---- host
  __shared__ float part[256];
  float a = -INFINITY;
  for (int i = threadIdx.x; i < n; i += 256) {
    if (i == 31234) continue;
    float b = x[i];
    a = fmaxf(a, b);
  }
  part[threadIdx.x] = a;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      float b = part[threadIdx.x + half];
      a = part[threadIdx.x];
      part[threadIdx.x] = fmaxf(a, b);
    }
  }
  if (threadIdx.x == 0) y[0] = part[0];
}
<host>
