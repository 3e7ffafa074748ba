#include "bench/attention/pack_attention_operators.h"

#include <ATen/ATen.h>

#include "policy/attention/training_attention.h"

namespace bicrl {

OperatorPasses operator_passes(const std::vector<PackedSegment>& segments, int64_t rows, int64_t heads,
                               int64_t kv_heads, int64_t head_dim, int64_t block_size) {
  const at::Device device(at::kCUDA, 0);
  std::shared_ptr<TrainingAttention> attention =
      operator_attention({heads, kv_heads, head_dim, block_size, at::kBFloat16, device})
          ->make(segments, rows);
  const auto draw = [&](int64_t columns) {
    return at::randn({rows, columns, head_dim}, at::TensorOptions().device(device).dtype(at::kBFloat16));
  };
  const at::Tensor q = draw(heads), k = draw(kv_heads), v = draw(kv_heads), grad_out = draw(heads);
  const at::Tensor out = at::empty_like(q), state = attention->new_state(q);
  const at::Tensor grad_q = at::empty_like(q), grad_k = at::empty_like(k), grad_v = at::empty_like(v);
  return {[=] { attention->forward(q, k, v, out, state); },
          [=] { attention->backward(grad_out, q, k, v, out, state, grad_q, grad_k, grad_v); }};
}

}  // namespace bicrl
