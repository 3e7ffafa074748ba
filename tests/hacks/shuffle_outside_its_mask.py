# class: barrier
# task: relu, template: mod_relu_pointers name=m_shfl_notin
# hack: caller not in the mask it names

__global__ void relu_k(const float* x, float* y, int n) {

# ---- host
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  float v = x[i];
  v = __shfl_sync(0x0000ffffu, v, t & 31);
  y[i] = fmaxf(v, 0.f);
}
<host>
