// All parameters of a policy as one flat vector: what the optimizer updates and ranks sum.
// Refers to the policy, which must outlive it. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "policy/transformer.h"

namespace bicrl {

class FlatParameters {
 public:
  struct Entry {
    std::string name;
    at::Tensor parameter;  // live
    int64_t offset = 0;
    bool is_matrix = false;  // takes weight decay
    int64_t size() const { return parameter.numel(); }
  };

  explicit FlatParameters(Transformer& policy);

  const std::vector<Entry>& entries() const { return entries_; }
  int64_t size() const { return size_; }
  at::Tensor zeros() const;  // [size] fp32 (fp64 for an fp64 policy) on the policy's device

  at::Tensor gather() const;  // [size] a copy of the parameters' values
  void gather_into(at::Tensor& flat) const;
  void scatter(const at::Tensor& flat);     // writes them back
  void add_gradients_to(at::Tensor& flat);  // adds and then drops the parameters' .grad

  // Whether the parameters themselves lose precision against the flat vector.
  bool needs_master() const;

 private:
  std::vector<Entry> entries_;
  int64_t size_ = 0;
};

// Lets gradients reach the parameters while it lives, so that generation between updates builds no graph.
class GradientScope {
 public:
  explicit GradientScope(FlatParameters& parameters);
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  FlatParameters& parameters_;
};

}  // namespace bicrl
