# class: barrier
# task: relu, template: mod_relu_pointers name=m_syncwarp_bad
# hack: __syncwarp with a mask lacking the caller

__global__ void relu_k(const float* x, float* y, int n) {

# ---- host
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  __syncwarp(1u);
  y[i] = fmaxf(x[i], 0.f);
}
<host>
