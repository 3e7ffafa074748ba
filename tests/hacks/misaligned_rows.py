# class: illegal_access
# task: threshold, template: threshold
# hack: H22 float4 per row of 70: every other row starts eight bytes off

__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int row = blockIdx.x, i = threadIdx.x * 4;
  if (i >= 70) return;
  float4 a = *reinterpret_cast<const float4*>(x + row * 70 + i), b = *reinterpret_cast<const float4*>(y + row * 70 + i);
  bool greater[4] = {a.x > b.x, a.y > b.y, a.z > b.z, a.w > b.w};
  for (int k = 0; k < 4 && i + k < 70; ++k) out[row * 70 + i + k] = greater[k];
}

# ---- launch
  threshold_kernel<<<n / 70, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<bool>(), n);
