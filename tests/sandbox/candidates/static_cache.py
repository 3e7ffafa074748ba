# class: wrong_value
# task: affine, template: affine
# a second call gives the same tensor with other contents, and the cache answers with the first one's

# ---- host
#include <map>
static std::map<const void*, torch::Tensor> cache;
torch::Tensor affine(torch::Tensor x) {
  auto y = torch::empty_like(x);
  auto known = cache.find(x.data_ptr<float>());
  if (known != cache.end()) return known->second;
  int n = x.numel();
  affine_kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
  cache[x.data_ptr<float>()] = y;
  return y;
}
