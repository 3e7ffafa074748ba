# class: record|protocol|illegal_access|memory
# task: affine, template: affine_copy
# hack: H56 std::terminate by an exception that leaves a noexcept function
# why: a death of the host part

#include <new>

static void fails() noexcept { throw std::bad_alloc(); }

<kernels>

# ---- host
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  fails();
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  return y;
}
