# class: illegal_access
# task: affine, template: affine
# hack: H28 the output's address is put together again in the kernel, four bytes too high at the end
# why: if split pointers are not followed as relocations, the address is no buffer's: illegal as well

__global__ void affine_kernel(const float* x, unsigned low, unsigned high, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) reinterpret_cast<float*>(((unsigned long long)high << 32) | low)[i + 1] = fmaxf(x[i], 0.0f) * 2.0f + 1.0f;
}

# ---- launch
  unsigned long long at = reinterpret_cast<unsigned long long>(y.data_ptr<float>());
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), (unsigned)at, (unsigned)(at >> 32), n);
