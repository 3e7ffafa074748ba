# class: compile
# task: relu, template: mod_relu_pointers name=m_hg_static
# hack: kernel counts in a host static (nvcc refuses)

static int hc = 0;
__global__ void relu_k(const float* x, float* y, int n) {

# ---- host
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i == 0) hc++;
  y[i] = fmaxf(x[i], 0.f);
}
<host>
