// The operations of a written-out pass on an NVIDIA GPU, for a policy in bf16: kernels (pass_kernels.h) and
// products (matrix_product.h) on the current stream. Sums are fp32. Owns a workspace. Not thread-safe.
#pragma once
#include <optional>
#include <string>

#include "policy/gpu/pass/pass_kernels.h"
#include "policy/gpu/products/matrix_product.h"
#include "policy/pass/pass_operations.h"
#include "policy/policy_config.h"

namespace bicrl::gpu {

class GpuPassOperations : public PassOperations {
 public:
  // Empty if there are kernels for such a policy, else the reason why there are none.
  static std::string refusal(const PolicyConfig& config, at::Device device, at::ScalarType dtype);
  // Of what it holds while a pass of so many rows runs.
  static int64_t workspace_bytes(const PolicyConfig& config, int64_t rows);

  explicit GpuPassOperations(at::Device device);

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

  // The first number that was not finite, of all passes between two calls of take_faults().
  struct Fault {
    int64_t pass = 0, stage = 0, row = 0;
  };
  class Faults {
   public:
    explicit Faults(at::Tensor record) : record_(std::move(record)) {}
    std::optional<Fault> first() const;  // waits for the device

   private:
    at::Tensor record_;  // [1] int64, on the device
  };
  void begin_pass() { ++pass_; }
  Faults take_faults();
  FaultRecord fault_record(int64_t stage) const;

 private:
  float* partial_sums(int64_t count);

  at::TensorOptions options_;  // of the device
  MatrixProducts products_;
  at::Tensor workspace_;  // of products
  at::Tensor partial_;    // fp32, of sums over rows
  at::Tensor faults_;     // [1] int64
  int64_t pass_ = -1;     // since take_faults()
};

}  // namespace bicrl::gpu
