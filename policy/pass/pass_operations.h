// The operations of a forward and backward pass that is written out (policy_pass.h), behind one interface:
// kernels on GPUs (gpu/gpu_pass_operations.h), and torch's operators in tests. All tensors lie on one device,
// have the policy's type unless another is named, and rows are contiguous; what is written is given by the
// caller. Operations run in the order in which they are called. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace bicrl {

// out = alpha op(a) op(b) + addend, where op transposes what is named so. `out` may have the wide type, in
// which it is then summed; `addend` is of out's type and may be out itself, or undefined.
struct PassProduct {
  at::Tensor a;
  bool a_transposed = false;
  at::Tensor b;
  bool b_transposed = false;
  double alpha = 1;
  at::Tensor addend{};
  at::Tensor out;
};

struct PassNorm {
  at::Tensor x;       // [rows, width]
  at::Tensor weight;  // [width]
  double eps = 0;
  // For whoever keeps a record of numbers that are not finite:
  int64_t stage = 0;
  at::Tensor names{};  // [rows] int64, what rows are called there; undefined: by their index
};

// Heads of queries and keys in the fused product of a layer, [rows, (heads + 2 kv_heads) head_dim].
struct PassHeads {
  at::Tensor qkv;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  at::Tensor q_norm, k_norm;  // [head_dim]
  double eps = 0;
  at::Tensor cos, sin;  // [rows, head_dim] fp32, as rotation() makes them
};

class PassOperations {
 public:
  virtual ~PassOperations() = default;

  virtual void multiply(const PassProduct& product) = 0;

  // out: [rows, width].
  virtual void norm(const PassNorm& norm, const at::Tensor& out) = 0;
  // out = residual + the gradient of x; weight_sum [width] of the wide type += the weight's.
  // residual and weight_sum may be undefined, and out may be residual.
  virtual void norm_backward(const PassNorm& norm, const at::Tensor& grad, const at::Tensor& residual,
                             const at::Tensor& out, const at::Tensor& weight_sum) = 0;

  // cos, sin: [rows, head_dim] fp32; the second half of cosines repeats the first, sines have a minus in the
  // first.
  virtual void rotation(const at::Tensor& positions, const at::Tensor& inverse_frequency,
                        const at::Tensor& cos, const at::Tensor& sin) = 0;
  // Norms and rotates: out [rows, heads + kv_heads, head_dim].
  virtual void rotate(const PassHeads& heads, const at::Tensor& out) = 0;
  // The other way, in the queries and keys of grad, which lie as qkv does. Both sums: [head_dim] of the wide
  // type, of the norms' weights; may be undefined.
  virtual void rotate_backward(const PassHeads& heads, const at::Tensor& grad, const at::Tensor& q_sum,
                               const at::Tensor& k_sum) = 0;

  // gate_up: [rows, 2 width] -> out [rows, width] = silu(gate) up.
  virtual void gate(const at::Tensor& gate_up, const at::Tensor& out) = 0;
  // Writes the gradient over gate_up, and, unless undefined, the forward's result again.
  virtual void gate_backward(const at::Tensor& grad, const at::Tensor& gate_up, const at::Tensor& out) = 0;

  // out[i] = from[rows[i]].
  virtual void gather(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) = 0;
  // out[rows[i]] = from[i], where each row is named once at most; the other rows of out are zeroed.
  virtual void scatter(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) = 0;
  // sum[token of row] += grad[row]; tokens are those of the rows, on the host.
  virtual void embed_backward(const at::Tensor& grad, std::span<const int64_t> tokens,
                              const at::Tensor& sum) = 0;
};

}  // namespace bicrl
