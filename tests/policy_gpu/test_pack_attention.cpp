// Attention to packs by the portable kernels in the PTX interpreter, against fp64.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>

#include "policy/gpu/pack_attention/pack_tables.h"
#include "tests/policy_gpu/kernel_texts.h"
#include "tests/policy_gpu/pack_case.h"

namespace bicrl {
namespace {

using namespace testing;

// As the kernels have them.
struct KernelArguments {
  gpu::PackTables tables;
  uint64_t q, k, v, grad_out, out, grad_q, grad_k, grad_v;
  int64_t q_stride, k_stride, v_stride, grad_q_stride, grad_k_stride, grad_v_stride;
  uint64_t log_sums, deltas, parts;
  float scale, scale_log2;
  int32_t rows, heads, kv_heads, group, run_rows, block_size, inverse_group;
};

// The portable kernels on the interpreter.
class Interpreted {
 public:
  Interpreted(const PackCase& work, int64_t processors, uint64_t seed)
      : work_(work),
        plan_(plan_pack_attention(work.segments, work.rows, work.plan_shape(processors))),
        runner_(interpreter_with("pack_attention")) {
    runner_.reseed(seed);
    upload_tables();
    upload_tensors();
  }

  PackResults run() {
    const auto queries = static_cast<uint32_t>(2 * plan_.query_tasks.size());
    const auto keys = static_cast<uint32_t>(2 * plan_.key_tasks.size());
    launch("pack_forward_portable", {queries, 1, 1}, 5);
    launch("pack_query_gradients_portable", {queries, 1, 1}, 6);
    launch("pack_key_gradients_portable", {keys, 1, 1}, 6);
    if (!plan_.key_sums.empty())
      launch("sum_key_parts", {static_cast<uint32_t>(plan_.key_sums.size()), 2, 3}, 0);
    const at::Tensor out = download(arguments_.out, work_.shape.heads);
    const at::Tensor gradients = download(arguments_.grad_q, columns());
    const int64_t heads = work_.shape.heads, kv = work_.shape.kv_heads;
    return {out, gradients.narrow(1, 0, heads), gradients.narrow(1, heads, kv),
            gradients.narrow(1, heads + kv, kv)};
  }
  size_t sums() const { return plan_.key_sums.size(); }

 private:
  int64_t columns() const { return work_.shape.heads + 2 * work_.shape.kv_heads; }

  void upload_tables() {
    std::vector<std::byte> bytes(static_cast<size_t>(gpu::pack_table_bytes(plan_)));
    gpu::write_pack_tables(plan_, bytes);
    const uint64_t first = runner_.upload(bytes, ptx::DeviceMemory::Permission::kReadOnly);
    arguments_.tables = gpu::pack_tables_at(plan_, reinterpret_cast<const void*>(first));
  }
  uint64_t upload(const at::Tensor& tensor) {
    const auto* first = static_cast<const uint16_t*>(tensor.const_data_ptr());
    return runner_.upload(std::vector<uint16_t>(first, first + tensor.numel()));
  }
  void upload_tensors() {
    const PackCaseShape& s = work_.shape;
    const int64_t stride = work_.product.stride(0);
    const uint64_t product = upload(work_.product);
    arguments_.q = product;
    arguments_.k = product + static_cast<uint64_t>(s.heads * s.head_dim) * 2;
    arguments_.v = arguments_.k + static_cast<uint64_t>(s.kv_heads * s.head_dim) * 2;
    arguments_.q_stride = arguments_.k_stride = arguments_.v_stride = stride;
    arguments_.grad_out = upload(work_.grad_out);
    arguments_.out = upload(at::full_like(work_.grad_out, NAN));
    arguments_.grad_q = upload(at::full({work_.rows, columns(), s.head_dim}, NAN, at::kBFloat16));
    arguments_.grad_k = arguments_.grad_q + static_cast<uint64_t>(s.heads * s.head_dim) * 2;
    arguments_.grad_v = arguments_.grad_k + static_cast<uint64_t>(s.kv_heads * s.head_dim) * 2;
    arguments_.grad_q_stride = arguments_.grad_k_stride = arguments_.grad_v_stride = columns() * s.head_dim;
    const auto floats = static_cast<uint64_t>(gpu::pack_log_sums(work_.rows, s.heads));
    arguments_.log_sums = runner_.reserve(floats * 4);
    arguments_.deltas = runner_.reserve(floats * 4);
    arguments_.parts = runner_.reserve(std::max<uint64_t>(
        static_cast<uint64_t>(gpu::pack_part_floats(s.head_dim) * plan_.key_parts) * 4, 16));
    const int32_t group = static_cast<int32_t>(s.heads / s.kv_heads);
    arguments_.scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim));
    arguments_.scale_log2 = arguments_.scale * 1.44269504f;
    arguments_.rows = static_cast<int32_t>(work_.rows);
    arguments_.heads = static_cast<int32_t>(s.heads);
    arguments_.kv_heads = static_cast<int32_t>(s.kv_heads);
    arguments_.group = group;
    arguments_.run_rows = static_cast<int32_t>(plan_.run_rows);
    arguments_.block_size = static_cast<int32_t>(s.block_size);
    arguments_.inverse_group = (65535 + group) / group;
  }
  void launch(const std::string& kernel, ptx::Dim3 grid, int matrices) {
    const std::string part = concat(kernel, "ILi", work_.shape.head_dim, "E");
    const auto shared = static_cast<uint32_t>(matrices * 64 * work_.shape.head_dim * 2);
    INFO(kernel);
    REQUIRE(ptx::testing::fault_text(
                runner_.launch(kernel_named(runner_, {part}), grid, {128, 1, 1}, shared, arguments_)) == "");
  }
  at::Tensor download(uint64_t address, int64_t its_columns) const {
    std::vector<uint16_t> bits = runner_.download<uint16_t>(address);
    return at::from_blob(bits.data(), {work_.rows, its_columns, work_.shape.head_dim}, at::kBFloat16).clone();
  }

  const PackCase& work_;
  PackAttentionPlan plan_;
  ptx::testing::KernelRunner runner_;
  KernelArguments arguments_{};
};

}  // namespace

TEST_CASE("attention to packs by the portable kernels is that of fp64", "[pack_attention]") {
  // The interpreter takes seconds for each: more shapes are tested on a GPU (test_kernel_attention.cpp).
  const auto shape = GENERATE(PackCaseShape{2, 1, 64, 4}, PackCaseShape{8, 1, 64, 4},
                              PackCaseShape{2, 2, 64, 64}, PackCaseShape{4, 2, 128, 4});
  const PackCase work(shape);
  Interpreted kernels(work, /*processors=*/7, 1);
  work.check(kernels.run());
}

TEST_CASE("attention to packs by the portable kernels counts the keys and queries of the mask",
          "[pack_attention]") {
  const auto shape = GENERATE(PackCaseShape{1, 1, 64, 8}, PackCaseShape{3, 1, 64, 16});
  const PackCase work = PackCase::counting(shape);
  work.check_counts(Interpreted(work, /*processors=*/5, 1).run());
}

TEST_CASE("attention to packs adds up parts of a prompt's gradients in one order", "[pack_attention]") {
  // A prompt that six responses see, on so many processors that it is split.
  std::vector<PackedSegment> segments{{0, 0, 0, 72, {}}};
  for (int64_t i = 0; i < 6; ++i) {
    PackedSegment s{0, 72, segments.back().begin + segments.back().rows(4), 48, {}};
    for (int64_t block = 18; block < 30; ++block) s.noisy_blocks.insert(s.noisy_blocks.end(), 2, block);
    segments.push_back(s);
  }
  const PackCase work({4, 1, 64, 4}, segments);
  Interpreted kernels(work, /*processors=*/132, 1);
  REQUIRE(kernels.sums() == 1);
  const PackResults results = kernels.run();
  work.check(results);
  CHECK(same_bits(results, Interpreted(work, 132, 77).run()));  // with blocks and warps in another order
}

}  // namespace bicrl
