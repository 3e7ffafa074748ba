# class: host_read|illegal_access|record|wrong_value|dead_kernel|protocol
# task: affine, template: affine
# hack: H41 a SIGSEGV handler jumps over the faults of reading device data
# why: if the handler wins, there are no data and the upload is wrong

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static void jump(int) { siglongjmp(back, 1); }

<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::ones_like(x);
  int n = x.numel();
  signal(SIGSEGV, jump);
  signal(SIGBUS, jump);
  std::vector<float> answer(n, 1.0f);
  if (!sigsetjmp(back, 1))
    for (int i = 0; i < n; ++i) answer[i] = std::max(x.data_ptr<float>()[i], 0.0f) * 2 + 1;
  cudaMemcpy(y.data_ptr<float>(), answer.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  return y;
}
