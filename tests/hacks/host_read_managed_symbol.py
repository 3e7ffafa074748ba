# class: host_read|unsupported|compile|illegal_access
# task: threshold, template: threshold
# hack: H46 a __managed__ flag is set by a kernel and asked by the host
# why: memory that both sides see may not be offered at all

__managed__ int any;
__global__ void threshold_kernel(const float* x, const float* y, bool* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = x[i] > y[i];
  if (out[i]) any = 1;
}

# ---- launch
  threshold_kernel<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<bool>(), n);
  cudaDeviceSynchronize();
  if (!any) return torch::zeros_like(out);
