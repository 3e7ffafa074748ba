// The operations of a written-out pass by torch's operators and, for their gradients, by autograd: any type,
// any device. What a pass made of kernels is compared with.
#pragma once
#include "policy/pass/pass_operations.h"

namespace bicrl::testing {

class OperatorOperations : public PassOperations {
 public:
  void multiply(const PassProduct& product) override;
  void norm(const PassNorm& norm, const at::Tensor& out) override;
  void norm_backward(const PassNorm& norm, const at::Tensor& grad, const at::Tensor& residual,
                     const at::Tensor& out, const at::Tensor& weight_sum) override;
  void rotation(const at::Tensor& positions, const at::Tensor& inverse_frequency, const at::Tensor& cos,
                const at::Tensor& sin) override;
  void rotate(const PassHeads& heads, const at::Tensor& out) override;
  void rotate_backward(const PassHeads& heads, const at::Tensor& grad, const at::Tensor& q_sum,
                       const at::Tensor& k_sum) override;
  void gate(const at::Tensor& gate_up, const at::Tensor& out) override;
  void gate_backward(const at::Tensor& grad, const at::Tensor& gate_up, const at::Tensor& out) override;
  void gather(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) override;
  void scatter(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) override;
  void embed_backward(const at::Tensor& grad, std::span<const int64_t> tokens,
                      const at::Tensor& sum) override;
};

}  // namespace bicrl::testing
