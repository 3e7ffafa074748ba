# class: record|protocol|memory|illegal_access|process
# task: affine, template: affine_copy
# hack: H61 unbounded recursion in the host part
# why: a crash of the host part

static int deeper(volatile int* depth) {
  volatile int own[256] = {*depth + 1};
  return deeper(own) + own[1];
}

<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  volatile int zero = 0;
  int n = x.numel() + deeper(&zero);
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
