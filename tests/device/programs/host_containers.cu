#include <torch/extension.h>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
struct Shape {
  int sizes[8];
  int count;
};
__global__ void copy(const float* x, float* y, Shape shape) {
  int i = threadIdx.x;
  if (i < shape.sizes[0] * shape.count) y[i] = x[i];
}
std::vector<int64_t> padded(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> result(sizes.begin(), sizes.end());
  result.push_back(1);
  std::reverse(result.begin(), result.end());
  std::sort(result.begin(), result.end(), [](int64_t a, int64_t b) { return a > b; });
  return result;
}
std::tuple<torch::Tensor, int64_t> forward(std::vector<torch::Tensor> inputs, const std::string& mode) {
  std::unordered_map<std::string, int> modes = {{"a", 1}, {"b", 2}};
  auto found = modes.find(mode);
  TORCH_CHECK(found != modes.end(), "no mode ", mode);
  std::vector<torch::Tensor> outputs;
  Shape shape{};
  for (const auto& t : inputs) {
    auto sizes = padded(t.sizes().vec());
    shape.count = std::accumulate(sizes.begin(), sizes.end(), 1);
    std::function<int(int)> half = [](int v) { return v / 2; };
    shape.sizes[0] = std::min<int64_t>(half(4), std::max({1, 2, 3}));
    outputs.emplace_back(torch::empty(sizes, t.options()));
    copy<<<1, 32>>>(t.data_ptr<float>(), outputs.back().data_ptr<float>(), shape);
  }
  auto owner = std::make_unique<Shape>(shape);
  auto [a, b] = std::make_pair(outputs[0], static_cast<int64_t>(owner->count));
  return std::make_tuple(a, b);
}
