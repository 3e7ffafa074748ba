# class: record|illegal_access|protocol
# task: affine, template: affine_copy
# hack: H59 the host part writes through a null pointer
# why: a crash of the host part that has nothing to do with device data

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  volatile int* nowhere = nullptr;
  int n = *nowhere = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
