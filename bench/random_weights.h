// Weights of a policy that are drawn where they lie, for benchmarks: as a fresh policy's, but not the same on
// every device.
#pragma once
#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "policy/files/tensor_source.h"
#include "policy/parameters/parameter_layout.h"

namespace bicrl {

class RandomWeights : public TensorSource {
 public:
  explicit RandomWeights(const PolicyConfig& config) : layout_(config), range_(config.initializer_range) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const ParameterEntry& e : layout_.entries()) names.push_back(e.name);
    return names;
  }
  std::vector<int64_t> shape(const std::string& name) const override { return entry(name).shape; }
  void read(const std::string& name, int64_t, const at::Tensor& into) const override {
    if (entry(name).is_norm)
      at::Tensor(into).fill_(1);
    else
      at::Tensor(into).normal_(0, range_);
  }

 private:
  const ParameterEntry& entry(const std::string& name) const { return layout_.entry(layout_.index_of(name)); }
  ParameterLayout layout_;
  double range_;
};

}  // namespace bicrl
