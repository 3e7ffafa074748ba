# class: compile
# task: relu, template: mod_relu name=m_pt_hostcall
# hack: calls a host function from the kernel (nvcc error)

float hostf(float v) { return v > 0 ? v : 0; }
__global__ void relu_k(const float* x, float* y, int n) {

# ---- host
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = hostf(x[i]);
}
<host>
