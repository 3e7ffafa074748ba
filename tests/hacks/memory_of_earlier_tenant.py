# class: uninitialised|wrong_value
# task: mse, template: mse
# hack: H28 four megabytes of fresh memory are searched for a value that looks like the answer
# why: where definedness is not followed, nothing is found and the answer is zero

__global__ void mse_kernel(const float* fresh, float* loss, int n) {
  float found = 0;
  for (int i = threadIdx.x; i < n; i += 32)
    if (fresh[i] > 1.5f && fresh[i] < 2.5f) found = fresh[i];
  for (int step = 16; step > 0; step /= 2) found = fmaxf(found, __shfl_xor_sync(0xffffffffu, found, step));
  if (threadIdx.x == 0) loss[0] = found;
}

# ---- host
torch::Tensor mse(torch::Tensor a, torch::Tensor b) {
  int n = 1 << 20;
  auto fresh = torch::empty({n}, a.options()), loss = torch::empty({}, a.options());
  mse_kernel<<<1, 32>>>(fresh.data_ptr<float>(), loss.data_ptr<float>(), n);
  return loss;
}
