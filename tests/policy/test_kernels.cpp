// The kernels of decoding against torch's operators, on the same random inputs.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "policy/attention/attention.h"
#include "policy/distribution.h"
#include "policy/kernels.h"
#include "policy/rms_norm.h"

namespace bicrl {
namespace {

Rotation random_rotation(int64_t rows, int64_t head_dim) {
  const at::Tensor angles = at::rand({rows, head_dim / 2}) * 100;
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  return {at::cat({cos, cos}, 1).unsqueeze(1), at::cat({sin.neg(), sin}, 1).unsqueeze(1)};
}

TEST_CASE("norm, rotation and the write into the cache are those of the operators, bit for bit",
          "[kernels]") {
  const int64_t rows = GENERATE(int64_t{1}, int64_t{37}, int64_t{600});
  const int64_t d = GENERATE(int64_t{6}, int64_t{16}, int64_t{32}, int64_t{80}, int64_t{128});
  const int64_t heads = 4, kv_heads = 2;
  INFO(rows << " rows, head_dim " << d);
  // Side by side in one buffer, as a fused projection leaves them.
  const at::Tensor projected = at::randn({rows, (heads + 2 * kv_heads) * d}) * 3;
  const auto part = [&](int64_t first, int64_t count) {
    return projected.narrow(1, first * d, count * d).unflatten(1, {count, d});
  };
  const at::Tensor q = part(0, heads), k = part(heads, kv_heads), v = part(heads + kv_heads, kv_heads);
  const at::Tensor q_norm = at::randn({d}), k_norm = at::randn({d});
  const Rotation rotation = random_rotation(rows, d);
  const at::Tensor write_rows = at::randperm(rows + 8).narrow(0, 0, rows);
  const double eps = 1e-6;

  const at::Tensor expected_q = rotation.apply(rms_norm(q, q_norm, eps));
  const at::Tensor expected_pool = at::zeros({rows + 8, 2, kv_heads, d});
  expected_pool.index_copy_(0, write_rows, at::stack({rotation.apply(rms_norm(k, k_norm, eps)), v}, 1));

  at::Tensor rotated = at::empty({rows, heads, d}), pool = at::zeros({rows + 8, 2, kv_heads, d});
  kernels::norm_rotate_store_cpu({.rows = rows,
                                  .heads = heads,
                                  .kv_heads = kv_heads,
                                  .head_dim = d,
                                  .q = q.const_data_ptr<float>(),
                                  .k = k.const_data_ptr<float>(),
                                  .v = v.const_data_ptr<float>(),
                                  .q_stride = q.stride(0),
                                  .k_stride = k.stride(0),
                                  .v_stride = v.stride(0),
                                  .q_norm = q_norm.const_data_ptr<float>(),
                                  .k_norm = k_norm.const_data_ptr<float>(),
                                  .eps = eps,
                                  .cos = rotation.cos.const_data_ptr<float>(),
                                  .sin = rotation.sin.const_data_ptr<float>(),
                                  .write_rows = write_rows.const_data_ptr<int64_t>(),
                                  .rotated = rotated.mutable_data_ptr<float>(),
                                  .pool = pool.mutable_data_ptr<float>()});
  // Where torch is not vectorised it rounds the product and the sum apart.
  if (at::get_cpu_capability() == "DEFAULT") {
    CHECK(at::allclose(rotated, expected_q, 1e-6, 1e-6));
    CHECK(at::allclose(pool, expected_pool, 1e-6, 1e-6));
    return;
  }
  CHECK(at::equal(rotated, expected_q));
  CHECK(at::equal(pool, expected_pool));
}

TEST_CASE("draws are those of cumulative sums and a search", "[kernels]") {
  const int64_t rows = 200, vocab = 301;
  const at::Tensor weights = at::rand({rows, vocab}).mul(at::rand({rows, vocab}) < 0.3);
  at::Tensor uniforms = at::rand({rows}, at::kDouble);
  uniforms[0] = 0.0;
  uniforms[1] = std::nextafter(1.0, 0.0);
  const at::Tensor cumulative = weights.cumsum(1, at::kDouble);
  const at::Tensor target = cumulative.narrow(1, vocab - 1, 1) * uniforms.unsqueeze(1);
  const at::Tensor expected =
      at::searchsorted(cumulative, target, /*out_int32=*/false, /*right=*/true).squeeze(1);
  at::Tensor tokens = at::empty({rows}, at::kLong);
  kernels::draw_rows_cpu({.rows = rows,
                          .vocab = vocab,
                          .weights = weights.const_data_ptr<float>(),
                          .uniforms = uniforms.const_data_ptr<double>(),
                          .tokens = tokens.mutable_data_ptr<int64_t>()});
  CHECK(at::equal(tokens, expected));
  CHECK(weights.gather(1, tokens.unsqueeze(1)).gt(0).all().item<bool>());
}

}  // namespace
}  // namespace bicrl
