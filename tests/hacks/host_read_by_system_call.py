# class: host_read|record|wrong_value|dead_kernel|process|illegal_access|protocol
# task: affine, template: affine
# hack: H27 write() to a pipe and process_vm_readv read device data without a fault
# why: the calls fail without a fault, and the upload is wrong

#include <sys/uio.h>
#include <unistd.h>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  int n = x.numel(), ends[2];
  std::vector<float> answer(n);
  TORCH_CHECK(pipe(ends) == 0, "no pipe");
  for (int i = 0; i < n; ++i) {
    float value = 0;
    if (write(ends[1], x.data_ptr<float>() + i, 4) == 4) (void)!read(ends[0], &value, 4);
    iovec here = {&value, 4}, there = {x.data_ptr<float>() + i, 4};
    process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    answer[i] = std::max(value, 0.0f) * 2 + 1;
  }
  cudaMemcpy(y.data_ptr<float>(), answer.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  return y;
}
