#include "tests/support/dense_attention.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "common/error.h"

namespace bicrl::testing {

DenseMaskAttention::DenseMaskAttention(at::Tensor mask) : masked_(mask.logical_not()) {
  BICRL_CHECK(mask.dim() == 2 && mask.size(0) == mask.size(1) && mask.scalar_type() == at::kBool, "mask ",
              mask.sizes());
  BICRL_CHECK(mask.any(1).all().item<bool>(), "a query that may attend to nothing");
}

at::Tensor DenseMaskAttention::attend(int64_t, const at::Tensor& q, const at::Tensor& k,
                                      const at::Tensor& v) {
  const int64_t tokens = q.size(0), heads = q.size(1), head_dim = q.size(2), kv_heads = k.size(1);
  BICRL_CHECK(tokens == masked_.size(0) && k.size(0) == tokens && v.size(0) == tokens, "mask of ",
              masked_.size(0), " positions, ", tokens, " queries, ", k.size(0), " keys");
  const int64_t group = heads / kv_heads;
  const auto compute = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  // Query head h reads key head h / group.
  const at::Tensor queries = q.to(compute)
                                 .view({tokens, kv_heads, group, head_dim})
                                 .permute({1, 2, 0, 3})
                                 .reshape({kv_heads, group * tokens, head_dim});
  const at::Tensor keys = k.to(compute).permute({1, 2, 0});    // [kv_heads, head_dim, tokens]
  const at::Tensor values = v.to(compute).permute({1, 0, 2});  // [kv_heads, tokens, head_dim]
  const at::Tensor scores = at::bmm(queries, keys).mul(1.0 / std::sqrt(static_cast<double>(head_dim)));
  const at::Tensor weights = scores.view({kv_heads, group, tokens, tokens})
                                 .masked_fill(masked_, -std::numeric_limits<double>::infinity())
                                 .softmax(-1)
                                 .view({kv_heads, group * tokens, tokens});
  const at::Tensor mixed = at::bmm(weights, values).view({kv_heads, group, tokens, head_dim});
  return mixed.permute({2, 0, 1, 3}).reshape({tokens, heads, head_dim}).to(q.scalar_type());
}

at::Tensor block_causal_mask(int64_t tokens, int64_t block_size, at::Device device) {
  const at::Tensor block =
      at::arange(tokens, at::TensorOptions().device(device).dtype(at::kLong)).div(block_size, "floor");
  return block.unsqueeze(1) >= block.unsqueeze(0);
}

}  // namespace bicrl::testing
