// Sharded parameters while a policy is trained: each group's values are gathered from all ranks for the time
// in which a pass reads them, and freed afterwards; the group that comes next is on its way meanwhile. Every
// rank gathers the same groups in the same order. Of a policy with adapters these are the frozen parameters;
// the adapters stay where they are. Refers to policy and tensor plane, which must outlive it.
// Not thread-safe.
#pragma once
#include <cstdint>
#include <vector>

#include "policy/parameters/parameter_residency.h"
#include "policy/transformer.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {

class ParameterGatherer : public ParameterResidency {
 public:
  // From here on the policy's store keeps this rank's shard of the values apart.
  ParameterGatherer(Transformer& policy, TensorPlane& tensors);
  ~ParameterGatherer() override;
  ParameterGatherer(const ParameterGatherer&) = delete;
  ParameterGatherer& operator=(const ParameterGatherer&) = delete;

  // Between these two groups are present only in passes. Both may be called again.
  void shard();
  void gather_all();  // collective, unless no shard() came before

  void before_forward(int64_t group) override;
  void after_forward(int64_t group) override;
  void before_backward(int64_t group) override;
  void after_backward(int64_t group);  // all of its gradients are there; never of frozen parameters
  void end_pass();

 private:
  void begin(int64_t group);  // unless it is present or on its way
  void need(int64_t group);
  void drop(int64_t group);

  Transformer& policy_;
  ParameterStore& store_;
  TensorPlane& tensors_;
  std::vector<Transfer> coming_;  // by group
  std::vector<bool> on_its_way_;
  bool frozen_;
  bool sharded_ = false;
};

}  // namespace bicrl
