# class: compile
# task: relu, template: mod_relu_pointers name=m_hg_set
# hack: kernel reads an ordinary host global that the host set (nvcc refuses)

float hg = 0.f;
__global__ void relu_k(const float* x, float* y, int n) {

# ---- host
  int i = blockIdx.x * 256 + threadIdx.x;
  y[i] = fmaxf(x[i], hg);
}
<host>
