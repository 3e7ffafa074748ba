# class: launch
# task: relu, template: mod_relu name=m_late_hostfunc2
# hack: host callback that calls a CUDA API and launches (forbidden)

# ---- host
static float *gx, *gy;
static int gn;
void cb(void* p) { relu_k<<<(gn + 255) / 256, 256>>>(gx, gy, gn); }
torch::Tensor f(torch::Tensor x) {
  auto y = torch::empty_like(x);
  gn = x.numel();
  gx = x.data_ptr<float>();
  gy = y.data_ptr<float>();
  cudaLaunchHostFunc(0, cb, nullptr);
  return y;
}
