// Attention to packs by kernels on a GPU, in either form and behind the trainer's seam, against fp64.
#include "policy/gpu/pack_attention/kernel_attention.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "policy/gpu/pack_attention/pack_tables.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/pack_case.h"

namespace bicrl {
namespace {

using namespace testing;

AttentionShape attention_shape(const PackCaseShape& shape) {
  return {shape.heads,      shape.kv_heads, shape.head_dim,
          shape.block_size, at::kBFloat16,  at::Device(at::kCUDA, 0)};
}

// By one form of the kernels, into poisoned memory.
PackResults run_form(const PackCase& work, gpu::PackForm form) {
  const PackCaseShape& s = work.shape;
  const PackAttentionPlan plan =
      plan_pack_attention(work.segments, work.rows, work.plan_shape(gpu::pack_processors()));
  std::vector<std::byte> bytes(static_cast<size_t>(gpu::pack_table_bytes(plan)));
  gpu::write_pack_tables(plan, bytes);
  const at::Tensor tables = bytes_on_gpu(bytes);
  const auto poisoned = [](const at::Tensor& like) { return at::full_like(like, NAN); };
  const at::Tensor out = poisoned(work.grad_out);
  const at::Tensor gradients =
      at::full({work.rows, s.heads + 2 * s.kv_heads, s.head_dim}, NAN, work.product.options());
  const PackResults results{out, gradients.narrow(1, 0, s.heads), gradients.narrow(1, s.heads, s.kv_heads),
                            gradients.narrow(1, s.heads + s.kv_heads, s.kv_heads)};
  const auto floats = work.product.options().dtype(at::kFloat);
  const at::Tensor log_sums = at::full({gpu::pack_log_sums(work.rows, s.heads)}, NAN, floats);
  const at::Tensor deltas = at::full_like(log_sums, NAN);
  const at::Tensor parts = at::full({gpu::pack_part_floats(s.head_dim) * plan.key_parts}, NAN, floats);
  const auto rows_of = [](const at::Tensor& x) { return gpu::HeadRows{bf16(x), x.stride(0)}; };
  const gpu::PackWork pass{.rows = work.rows,
                           .heads = s.heads,
                           .kv_heads = s.kv_heads,
                           .head_dim = s.head_dim,
                           .block_size = s.block_size,
                           .run_rows = plan.run_rows,
                           .scale = 1.0f / std::sqrt(static_cast<float>(s.head_dim)),
                           .tables = gpu::pack_tables_at(plan, tables.const_data_ptr()),
                           .q = rows_of(work.q),
                           .k = rows_of(work.k),
                           .v = rows_of(work.v),
                           .out = bf16(out),
                           .log_sums = log_sums.mutable_data_ptr<float>(),
                           .grad_out = bf16(work.grad_out),
                           .grad_q = rows_of(results.grad_q),
                           .grad_k = rows_of(results.grad_k),
                           .grad_v = rows_of(results.grad_v),
                           .deltas = deltas.mutable_data_ptr<float>(),
                           .parts = parts.mutable_data_ptr<float>()};
  gpu::pack_attention_forward(pass, form, current_stream());
  gpu::pack_attention_backward(pass, form, current_stream());
  return results;
}

PackCaseShape on_gpu_with(int64_t heads, int64_t kv_heads, int64_t head_dim, int64_t block_size,
                          int64_t scale) {
  return {heads, kv_heads, head_dim, block_size, scale, at::Device(at::kCUDA, 0)};
}

std::vector<at::Tensor> by_autograd(TrainingAttention& attention, const PackCase& work) {
  std::vector<at::Tensor> qkv;
  for (const at::Tensor& x : {work.q, work.k, work.v}) qkv.push_back(x.detach().requires_grad_(true));
  const at::Tensor out = attention.attend(0, qkv[0], qkv[1], qkv[2]);
  auto all = torch::autograd::grad({out}, {qkv[0], qkv[1], qkv[2]}, {work.grad_out});
  all.push_back(out.detach());
  return all;
}

}  // namespace

TEST_CASE("attention to packs on a GPU is that of fp64 in every form, and repeats are equal",
          "[kernel_attention]") {
  require_gpu();
  const auto shape =
      GENERATE(on_gpu_with(16, 8, 128, 4, 3), on_gpu_with(32, 8, 128, 4, 2), on_gpu_with(2, 2, 128, 8, 4),
               on_gpu_with(8, 1, 128, 16, 3), on_gpu_with(8, 2, 64, 32, 2), on_gpu_with(16, 2, 64, 64, 2),
               on_gpu_with(3, 1, 64, 4, 5), on_gpu_with(10, 2, 128, 4, 3), on_gpu_with(6, 1, 128, 8, 2),
               on_gpu_with(7, 1, 64, 64, 2), on_gpu_with(4, 4, 64, 64, 1), on_gpu_with(4, 1, 128, 64, 2),
               on_gpu_with(2, 1, 64, 4, 40));
  const PackCase work(shape);
  work.check(run_form(work, gpu::PackForm::kPortable));
  if (gpu::best_pack_form() != gpu::PackForm::kHopper) return;
  const PackResults results = run_form(work, gpu::PackForm::kHopper);
  work.check(results);
  CHECK(same_bits(results, run_form(work, gpu::PackForm::kHopper)));
}

TEST_CASE("attention to packs on a GPU counts the keys and queries of the mask", "[kernel_attention]") {
  require_gpu();
  const auto block_size = GENERATE(int64_t{4}, int64_t{8}, int64_t{16}, int64_t{32}, int64_t{64});
  const auto group = GENERATE(int64_t{1}, int64_t{2}, int64_t{3}, int64_t{4}, int64_t{5}, int64_t{8});
  const PackCase work =
      PackCase::counting(on_gpu_with(2 * group, 2, group % 2 == 0 ? 128 : 64, block_size, 1));
  work.check_counts(run_form(work, gpu::PackForm::kPortable));
  work.check_counts(run_form(work, gpu::best_pack_form()));
}

// A warpgroup that is given step after step of which it sees nothing, behind one that it did see, must not
// keep that one's place: a tile of noisy rows has more runs than there are places.
TEST_CASE("attention to packs of noisy blocks alone ends for every group", "[kernel_attention]") {
  require_gpu();
  const auto group = GENERATE(1, 2, 4, 8);
  std::vector<PackedSegment> segments;
  for (int64_t i = 0; i < 40; ++i) {
    PackedSegment s{0, 0, 0, 0, std::vector<int64_t>(64, 0)};
    s.begin = i * 256;
    segments.push_back(s);
  }
  const PackCase work({group * 2, 2, 128, 4, 1, at::Device(at::kCUDA, 0)}, segments);
  work.check(run_form(work, gpu::best_pack_form()));
}

TEST_CASE("attention kernels behind the seam take slices and give what autograd gives",
          "[kernel_attention]") {
  require_gpu();
  const PackCase work(on_gpu_with(8, 2, 128, 4, 2));
  const AttentionShape shape = attention_shape(work.shape);
  REQUIRE(gpu::kernel_attention_refusal(shape).empty());
  const auto backend = gpu::kernel_attention(shape);
  const auto attention = backend->make(work.segments, work.rows);
  CHECK(attention->rows() == work.rows);
  const auto all = by_autograd(*attention, work);
  work.check({all[3], all[0], all[1], all[2]});

  const at::Tensor out = at::full_like(work.grad_out, NAN), state = attention->new_state(work.q).fill_(NAN);
  const at::Tensor gradients = at::full_like(work.product, NAN).narrow(0, 0, work.rows);
  const PackResults results{out, gradients.narrow(1, 0, 8), gradients.narrow(1, 8, 2),
                            gradients.narrow(1, 10, 2)};
  const auto again = backend->make(work.segments, work.rows);
  again->upload();
  again->forward(work.q, work.k, work.v, out, state);
  again->backward(work.grad_out, work.q, work.k, work.v, out, state, results.grad_q, results.grad_k,
                  results.grad_v);
  CHECK(same_bits(results, {all[3], all[0], all[1], all[2]}));
  CHECK(gradients.narrow(1, 12, 1).isnan().all().item<bool>());  // and nothing else was written

  CHECK_THROWS_AS(attention->forward(work.q.to(at::kFloat), work.k, work.v, out, state), Error);
  const at::Tensor apart = at::empty({8, work.rows, 128}, work.q.options()).transpose(0, 1);
  CHECK_THROWS_AS(attention->forward(apart, work.k, work.v, out, state), Error);
}

TEST_CASE("attention kernels take the memory that they say", "[kernel_attention]") {
  require_gpu();
  namespace allocator = c10::cuda::CUDACachingAllocator;
  const PackCase work(on_gpu_with(16, 4, 64, 4, 20));
  const auto backend = gpu::kernel_attention(attention_shape(work.shape));
  const AttentionMemory memory = backend->memory(work.segments, work.rows);
  const auto allocated = [] { return allocator::getDeviceStats(0).allocated_bytes[0]; };
  const auto check_taken = [&](int64_t before, int64_t bytes, int64_t tensors) {
    const int64_t taken = allocated().peak - before;
    CAPTURE(taken, bytes);
    CHECK(taken >= bytes);
    // The allocator rounds up to 512 bytes, and does not split off less than a MiB.
    CHECK(taken <= bytes + tensors * (512 + (1 << 20)));
  };
  const auto begin = [&] {
    allocator::resetPeakStats(0);
    return allocated().current;
  };
  int64_t before = begin();
  const auto attention = backend->make(work.segments, work.rows);
  attention->upload();
  check_taken(before, memory.plan_bytes, 1);
  before = begin();
  const at::Tensor out = at::empty_like(work.grad_out), state = attention->new_state(work.q);
  check_taken(before, memory.kept_bytes, 2);
  before = begin();
  attention->forward(work.q, work.k, work.v, out, state);
  check_taken(before, memory.forward_bytes, 0);
  const at::Tensor gradients = at::empty_like(work.product).narrow(0, 0, work.rows);
  before = begin();
  attention->backward(work.grad_out, work.q, work.k, work.v, out, state, gradients.narrow(1, 0, 16),
                      gradients.narrow(1, 16, 4), gradients.narrow(1, 20, 4));
  CHECK(memory.backward_bytes > static_cast<int64_t>(state.nbytes()));  // there are parts
  check_taken(before, memory.backward_bytes, 2);
}

TEST_CASE("attention without kernels is named", "[kernel_attention]") {
  AttentionShape shape{4, 2, 64, 4, at::kBFloat16, at::Device(at::kCUDA, 0)};
  CHECK(gpu::kernel_attention_refusal(shape).empty());
  shape.dtype = at::kFloat;
  CHECK(gpu::kernel_attention_refusal(shape) == "values of type Float");
  shape.dtype = at::kBFloat16;
  shape.head_dim = 96;
  CHECK(gpu::kernel_attention_refusal(shape) == "head_dim 96");
  shape.device = at::kCPU;
  CHECK(gpu::kernel_attention_refusal(shape) == "device cpu");
  CHECK_THROWS_AS(gpu::kernel_attention(shape), Error);
}

}  // namespace bicrl
