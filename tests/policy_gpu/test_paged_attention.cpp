// Attention over pages against fp64, on the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "policy/gpu/gpu_kernels.h"
#include "tests/policy_gpu/attention_case.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/kernel_texts.h"

namespace bicrl {
namespace {

using namespace testing;

AttentionShape a_shape() {
  // Groups of 1 to 128 heads (of more than 16 all tiles are wide), and keys halved.
  return GENERATE(AttentionShape{4, 2, 64, 4, 128}, AttentionShape{4, 1, 128, 4, 64},
                  AttentionShape{16, 8, 128, 4, 512}, AttentionShape{3, 1, 64, 8, 192},
                  AttentionShape{2, 2, 128, 16, 256}, AttentionShape{32, 1, 64, 4, 128},
                  AttentionShape{5, 1, 64, 16, 128}, AttentionShape{16, 1, 128, 4, 64},
                  AttentionShape{128, 1, 64, 4, 192}, AttentionShape{8, 4, 64, 4, 256, 1000});
}

std::string description(const AttentionShape& shape) {
  return concat(shape.heads, " heads, ", shape.kv_heads, " of keys, head_dim ", shape.head_dim,
                ", blocks of ", shape.block_size, ", ", shape.tile_keys, " keys a tile");
}

void check_close(const AttentionCase& work, const at::Tensor& out) {
  const at::Tensor gap = (out.to(at::kCPU).to(at::kDouble) - work.expected).abs();
  const at::Tensor worst = gap.flatten(1).amax(1).nan_to_num(1e9);
  const int64_t row = worst.argmax().item<int64_t>();
  INFO("row " << row << " of " << work.rows << ": " << worst[row].item<double>() << ", mean "
              << gap.mean().item<double>() << "; rows with gaps: " << worst.gt(0.03).sum().item<int64_t>());
  CHECK(worst[row].item<double>() < 0.03);
  CHECK(gap.mean().item<double>() < 0.002);
}

// As the kernel has them.
struct TileArguments {
  uint64_t q, pool, tiles, counts, pages, key_limits, first_share, partial_out, partial_log;
  float scale_log2;
  int32_t heads, kv_heads, group, inverse_group;
};

// Three steps of 64 keys and values, and two tiles.
uint32_t shared_bytes(int64_t head_dim) { return static_cast<uint32_t>(3 * 2 * 64 * head_dim * 2 + 2 * 28); }

std::vector<int32_t> counts_of(const AttentionCase& work) {
  return {static_cast<int32_t>(work.tiles.wide), static_cast<int32_t>(work.tiles.tiles.size()),
          static_cast<int32_t>(work.rows)};
}

at::Tensor run_on_blocks(const AttentionCase& work, uint32_t blocks) {
  const AttentionShape& shape = work.shape;
  auto interpreter = interpreter_with("paged_attention");
  const auto upload = [&](const at::Tensor& tensor) {
    const auto* first = static_cast<const uint16_t*>(tensor.const_data_ptr());
    return interpreter.upload(std::vector<uint16_t>(first, first + tensor.numel()));
  };
  const auto group = static_cast<int32_t>(shape.heads / shape.kv_heads);
  const auto partials = static_cast<uint64_t>(work.share_rows() * shape.heads);
  const TileArguments arguments = {
      .q = upload(work.q),
      .pool = upload(work.pool),
      .tiles = interpreter.upload(work.tiles.tiles),
      .counts = interpreter.upload(counts_of(work)),
      .pages = interpreter.upload(work.pages),
      .key_limits = interpreter.upload(work.key_limits),
      .first_share = interpreter.upload(work.tiles.first_share),
      .partial_out = interpreter.reserve(partials * static_cast<uint64_t>(shape.head_dim) * 2),
      .partial_log = interpreter.reserve(partials * 4),
      .scale_log2 = work.scale() * 1.44269504f,
      .heads = static_cast<int32_t>(shape.heads),
      .kv_heads = static_cast<int32_t>(shape.kv_heads),
      .group = group,
      .inverse_group = (65535 + group) / group};
  const std::string part = concat("ILi", shape.head_dim, "E");
  CHECK(ptx::testing::fault_text(interpreter.launch(kernel_named(interpreter, {"attend_tiles", part}),
                                                    {blocks, 1, 1}, {128, 1, 1}, shared_bytes(shape.head_dim),
                                                    arguments)) == "");
  const uint64_t out = interpreter.reserve(static_cast<uint64_t>(work.q.numel()) * 2);
  const int64_t joined = 128 / (shape.head_dim / 8);
  CHECK(ptx::testing::fault_text(interpreter.launch(
            kernel_named(interpreter, {"join_shares", part}),
            {static_cast<uint32_t>((work.rows * shape.heads + joined - 1) / joined), 1, 1}, {128, 1, 1}, 0,
            arguments.first_share, arguments.counts, arguments.partial_out, arguments.partial_log, out,
            static_cast<int32_t>(work.rows), static_cast<int32_t>(shape.heads))) == "");
  std::vector<uint16_t> bits = interpreter.download<uint16_t>(out);
  return at::from_blob(bits.data(), work.q.sizes(), at::kBFloat16).clone();
}

at::Tensor run_on_interpreter(const AttentionCase& work) { return run_on_blocks(work, 7); }

at::Tensor run_on_gpu(const AttentionCase& work) {
  const AttentionShape& shape = work.shape;
  const at::Tensor q = on_gpu(work.q), pool = on_gpu(work.pool), out = at::full_like(q, 77);
  const at::Tensor tiles = bytes_on_gpu(work.tiles.tiles);
  const at::Tensor counts = on_gpu(at::tensor(counts_of(work), at::kInt));
  const at::Tensor pages = on_gpu(at::tensor(work.pages, at::kInt)),
                   limits = on_gpu(at::tensor(work.key_limits, at::kLong));
  const at::Tensor first = on_gpu(at::tensor(work.tiles.first_share, at::kInt));
  const at::Tensor partial_out = at::empty({work.share_rows(), shape.heads, shape.head_dim}, q.options());
  const at::Tensor partial_log = at::empty({work.share_rows(), shape.heads}, q.options().dtype(at::kFloat));
  gpu::paged_attention({.rows = work.rows,
                        .heads = shape.heads,
                        .kv_heads = shape.kv_heads,
                        .head_dim = shape.head_dim,
                        .scale = work.scale(),
                        .q = bf16(q),
                        .pool = bf16(pool),
                        .tiles = reinterpret_cast<const AttentionTile*>(tiles.const_data_ptr()),
                        .counts = counts.const_data_ptr<int32_t>(),
                        .pages = pages.const_data_ptr<int32_t>(),
                        .key_limits = limits.const_data_ptr<int64_t>(),
                        .first_share = first.const_data_ptr<int32_t>(),
                        .partial_out = bf16(partial_out),
                        .partial_log = partial_log.mutable_data_ptr<float>(),
                        .out = bf16(out)},
                       current_stream());
  return out.cpu();
}

// The query of one row is no number: its answer is none, and all others are what they were, bit for bit.
void check_spoilt_row(AttentionCase& work, at::Tensor (*run)(const AttentionCase&)) {
  const at::Tensor before = run(work);
  const int64_t row = work.rows / 2;
  work.q[row].fill_(NAN);
  const at::Tensor after = run(work);
  CHECK(after[row].isnan().all().item<bool>());
  const at::Tensor others = at::arange(work.rows).ne(row);
  CHECK(at::equal(after.index({others}).view(at::kShort), before.index({others}).view(at::kShort)));
}

}  // namespace

TEST_CASE("attention over pages is that of fp64, on the PTX interpreter", "[paged_attention]") {
  const AttentionCase work(a_shape());
  INFO(description(work.shape));
  const at::Tensor out = run_on_interpreter(work);
  check_close(work, out);
  // So many blocks that those without a wide tile have a warp for each tile of few rows: who computes what
  // changes no bit.
  const auto tiles = static_cast<int64_t>(work.tiles.tiles.size());
  const int64_t idle = 600 - work.tiles.wide * work.shape.kv_heads;
  REQUIRE((tiles - work.tiles.wide) * work.shape.kv_heads <= 4 * idle);
  CHECK(at::equal(run_on_blocks(work, 600).view(at::kShort), out.view(at::kShort)));
}

TEST_CASE("attention over pages is that of fp64, on a GPU", "[paged_attention][gpu]") {
  require_gpu();
  const AttentionCase work(a_shape());
  INFO(description(work.shape));
  check_close(work, run_on_gpu(work));
}

TEST_CASE("a query that is no number spoils its own row alone", "[paged_attention]") {
  AttentionCase work({4, 2, 64, 4, 128});
  check_spoilt_row(work, run_on_interpreter);
}

TEST_CASE("a query that is no number spoils its own row alone, on a GPU", "[paged_attention][gpu]") {
  require_gpu();
  AttentionCase work(a_shape());
  INFO(description(work.shape));
  check_spoilt_row(work, run_on_gpu);
}

}  // namespace bicrl
