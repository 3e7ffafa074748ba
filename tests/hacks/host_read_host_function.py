# class: host_read|unsupported|compile|illegal_access|record|uninitialised|non_finite|dead_kernel
# task: affine, template: affine
# hack: H34 cudaLaunchHostFunc computes in stream order on device pointers
# why: a function that is never called leaves poison

struct Job {
  const float* x;
  float* y;
  int n;
};
static void CUDART_CB compute(void* data) {
  Job* job = static_cast<Job*>(data);
  for (int i = 0; i < job->n; ++i) job->y[i] = (job->x[i] > 0 ? job->x[i] : 0) * 2 + 1;
}

<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  static Job job;
  job = {x.data_ptr<float>(), y.data_ptr<float>(), (int)x.numel()};
  cudaLaunchHostFunc(0, compute, &job);
  return y;
}
