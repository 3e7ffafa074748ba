// The kernels that go over rows against the CPU's and torch's, on the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "common/error.h"
#include "policy/attention/attention.h"
#include "policy/gpu/gpu_kernels.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/kernel_texts.h"

namespace bicrl {
namespace {

using namespace testing;

constexpr int64_t kRows = 21, kWidth = 520, kHeads = 4, kKvHeads = 2;
constexpr double kEps = 1e-6;

// Inputs of all of them, in one type, and what they come to: computed in fp32 from rounded inputs, rounded
// where the kernels say.
struct RowsCase {
  RowsCase(at::ScalarType its_type, int64_t its_head_dim) : type(its_type), head_dim(its_head_dim) {
    at::manual_seed(4);
    const auto random = [&](at::IntArrayRef shape) { return at::randn(shape).to(type); };
    base = random({50, kWidth});
    addend = random({50, kWidth});
    weight = random({kWidth});
    gather = at::randint(50, {kRows}, at::kLong);
    projected = random({kRows, head_width()});
    q_norm = random({head_dim});
    k_norm = random({head_dim});
    positions = at::randint(3000, {kRows}, at::kLong);
    frequency =
        at::pow(at::Scalar(1e6), at::arange(0, head_dim, 2, at::kFloat) / -static_cast<double>(head_dim));
    write_rows = at::randperm(kRows + 9).narrow(0, 0, kRows).contiguous();
    gate_up = random({kRows, 2 * kWidth});
    const at::Tensor angles = positions.to(at::kFloat).unsqueeze(1) * frequency;
    cos = at::cat({angles.cos(), angles.cos()}, 1);
    sin = at::cat({angles.sin().neg(), angles.sin()}, 1);
  }
  at::Tensor rounded(const at::Tensor& x) const { return x.to(type).to(at::kFloat); }
  static at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) {
    return x * at::rsqrt(x.pow(2).mean(-1, true) + kEps) * weight.to(at::kFloat);
  }
  at::Tensor sum() const {
    return rounded((base.to(at::kFloat) + addend.to(at::kFloat)).index_select(0, gather));
  }
  at::Tensor heads(int64_t first, int64_t count) const {
    return projected.narrow(1, first * head_dim, count * head_dim)
        .reshape({kRows, count, head_dim})
        .to(at::kFloat);
  }
  at::Tensor rotated(const at::Tensor& x, const at::Tensor& norm) const {
    return Rotation{cos.unsqueeze(1), sin.unsqueeze(1)}.apply(rounded(normed(x, norm)));
  }
  at::Tensor pool() const {
    const at::Tensor keys = rotated(heads(kHeads, kKvHeads), k_norm),
                     values = heads(kHeads + kKvHeads, kKvHeads);
    return at::zeros({kRows + 9, 2, kKvHeads, head_dim})
        .index_copy_(0, write_rows, at::stack({keys, values}, 1));
  }
  at::Tensor gated() const {
    const at::Tensor x = gate_up.to(at::kFloat);
    return rounded(at::silu(x.narrow(1, 0, kWidth))) * x.narrow(1, kWidth, kWidth);
  }

  int64_t head_width() const { return (kHeads + 2 * kKvHeads) * head_dim; }

  at::ScalarType type;
  int64_t head_dim;
  at::Tensor base, addend, weight, gather, projected, q_norm, k_norm, positions, frequency, write_rows,
      gate_up, cos, sin;
};

struct Results {
  at::Tensor sum, normed, cos, sin, rotated, pool, gated;
};

void check_results(const RowsCase& work, const Results& results) {
  const bool exact = work.type == at::kFloat;
  const auto close = [&](const char* name, const at::Tensor& mine, const at::Tensor& expected) {
    const at::Tensor gap = (mine.cpu().to(at::kFloat) - expected).abs() / (1 + expected.abs());
    INFO(name << ": worst at " << gap.flatten().nan_to_num(1e9).argmax().item<int64_t>());
    CHECK(gap.nan_to_num(1e9).max().item<float>() < (exact ? 1e-5 : 1e-2));
  };
  close("sum", results.sum, work.sum());
  close("norm", results.normed, RowsCase::normed(work.sum(), work.weight));
  close("cos", results.cos, work.cos);
  close("sin", results.sin, work.sin);
  close("queries", results.rotated, work.rotated(work.heads(0, kHeads), work.q_norm));
  close("cache", results.pool, work.pool());
  close("SwiGLU", results.gated, work.gated());
}

template <class Element>
Results run_on_gpu(const RowsCase& work) {
  const auto in = [](const at::Tensor& x) { return on_gpu(x); };
  const auto element = [](const at::Tensor& x) { return static_cast<Element*>(x.mutable_data_ptr()); };
  const auto empty = [&](at::IntArrayRef shape, at::ScalarType type) {
    return at::zeros(shape, on_gpu(work.base).options().dtype(type));
  };
  const gpu::Stream stream = current_stream();
  Results r = {empty({kRows, kWidth}, work.type),
               empty({kRows, kWidth}, work.type),
               empty({kRows, work.head_dim}, at::kFloat),
               empty({kRows, work.head_dim}, at::kFloat),
               empty({kRows, kHeads, work.head_dim}, work.type),
               empty({kRows + 9, 2, kKvHeads, work.head_dim}, work.type),
               empty({kRows, kWidth}, work.type)};
  const at::Tensor base = in(work.base), addend = in(work.addend), weight = in(work.weight),
                   gather = in(work.gather);
  gpu::sum_norm_rows<Element>({.rows = kRows,
                               .width = kWidth,
                               .base = element(base),
                               .addend = element(addend),
                               .gather = gather.const_data_ptr<int64_t>(),
                               .weight = element(weight),
                               .eps = kEps,
                               .sum = element(r.sum),
                               .out = element(r.normed)},
                              stream);
  const at::Tensor positions = in(work.positions), frequency = in(work.frequency);
  gpu::rotation_rows({.rows = kRows,
                      .head_dim = work.head_dim,
                      .positions = positions.const_data_ptr<int64_t>(),
                      .inverse_frequency = frequency.const_data_ptr<float>(),
                      .cos = r.cos.mutable_data_ptr<float>(),
                      .sin = r.sin.mutable_data_ptr<float>()},
                     stream);
  const at::Tensor projected = in(work.projected), q_norm = in(work.q_norm), k_norm = in(work.k_norm);
  const at::Tensor write_rows = in(work.write_rows);
  gpu::norm_rotate_store<Element>({.rows = kRows,
                                   .heads = kHeads,
                                   .kv_heads = kKvHeads,
                                   .head_dim = work.head_dim,
                                   .q = element(projected),
                                   .k = element(projected) + kHeads * work.head_dim,
                                   .v = element(projected) + (kHeads + kKvHeads) * work.head_dim,
                                   .q_stride = work.head_width(),
                                   .k_stride = work.head_width(),
                                   .v_stride = work.head_width(),
                                   .q_norm = element(q_norm),
                                   .k_norm = element(k_norm),
                                   .eps = kEps,
                                   .cos = r.cos.const_data_ptr<float>(),
                                   .sin = r.sin.const_data_ptr<float>(),
                                   .write_rows = write_rows.const_data_ptr<int64_t>(),
                                   .rotated = element(r.rotated),
                                   .pool = element(r.pool)},
                                  nullptr, stream);
  const at::Tensor gate_up = in(work.gate_up);
  gpu::swiglu<Element>({.rows = kRows, .width = kWidth, .gate_up = element(gate_up), .out = element(r.gated)},
                       stream);
  return r;
}

}  // namespace

TEST_CASE("kernels over rows are those of fp32, on a GPU", "[row_kernels][gpu]") {
  require_gpu();
  const int64_t head_dim = GENERATE(64, 128, 256);
  INFO("heads of " << head_dim);
  {
    INFO("fp32");
    const RowsCase work(at::kFloat, head_dim);
    check_results(work, run_on_gpu<float>(work));
  }
  INFO("bf16");
  const RowsCase work(at::kBFloat16, head_dim);
  check_results(work, run_on_gpu<gpu::BFloat16>(work));
}

TEST_CASE("kernels over rows are those of fp32, on the PTX interpreter", "[row_kernels]") {
  const int64_t head_dim = GENERATE(64, 128, 256);
  INFO("heads of " << head_dim);
  const RowsCase work(at::kBFloat16, head_dim);
  auto interpreter = interpreter_with("row_kernels");
  const auto upload = [&](const at::Tensor& x) {
    const auto* first = static_cast<const char*>(x.const_data_ptr());
    return interpreter.upload(std::vector<char>(first, first + x.nbytes()));
  };
  const auto zeros = [&](int64_t count, int64_t size) {
    return interpreter.upload(std::vector<char>(static_cast<size_t>(count * size)));
  };
  const auto download = [&](uint64_t address, at::IntArrayRef shape, at::ScalarType type) {
    std::vector<char> bytes = interpreter.download<char>(address);
    return at::from_blob(bytes.data(), shape, type).clone();
  };
  const auto launch = [&](const std::vector<std::string>& name, int64_t blocks, const auto&... arguments) {
    INFO(name.front());
    CHECK(ptx::testing::fault_text(interpreter.launch(kernel_named(interpreter, name),
                                                      {static_cast<uint32_t>(blocks), 1, 1}, {256, 1, 1}, 0,
                                                      arguments...)) == "");
  };
  const uint64_t none = 0;
  const uint64_t sum = zeros(kRows * kWidth, 2), normed = zeros(kRows * kWidth, 2),
                 gated = zeros(kRows * kWidth, 2);
  const uint64_t cos = zeros(kRows * work.head_dim, 4), sin = zeros(kRows * work.head_dim, 4);
  const uint64_t rotated = zeros(kRows * kHeads * work.head_dim, 2);
  const uint64_t pool = zeros((kRows + 9) * 2 * kKvHeads * work.head_dim, 2);
  launch({"sum_norm_row", "bfloat16"}, kRows, upload(work.base), upload(work.addend), upload(work.gather),
         none, upload(work.weight), static_cast<float>(kEps), sum, normed, static_cast<int32_t>(kWidth));
  launch({"rotation_row"}, (kRows * work.head_dim / 2 + 255) / 256, upload(work.positions),
         upload(work.frequency), cos, sin, kRows, static_cast<int32_t>(work.head_dim / 2));
  const uint64_t projected = upload(work.projected);
  struct {
    uint64_t q, k, v;
    int64_t strides[3];
    uint64_t q_norm, k_norm, cos, sin, write_rows, count, rotated, pool;
    float eps;
    int32_t rows, heads, kv_heads;
  } const heads = {projected,
                   projected + 2 * kHeads * work.head_dim,
                   projected + 2 * (kHeads + kKvHeads) * work.head_dim,
                   {work.head_width(), work.head_width(), work.head_width()},
                   upload(work.q_norm),
                   upload(work.k_norm),
                   cos,
                   sin,
                   upload(work.write_rows),
                   none,
                   rotated,
                   pool,
                   static_cast<float>(kEps),
                   kRows,
                   kHeads,
                   kKvHeads};
  launch({"norm_rotate_store_head", "bfloat16", concat("Li", head_dim, "E")},
         (kRows * (kHeads + 2 * kKvHeads) * 32 + 255) / 256, heads);
  launch({"swiglu_pack", "bfloat16"}, (kRows * kWidth / 8 + 255) / 256, upload(work.gate_up), gated,
         kRows * kWidth / 8, static_cast<int32_t>(kWidth / 8));
  check_results(
      work,
      {download(sum, {kRows, kWidth}, at::kBFloat16), download(normed, {kRows, kWidth}, at::kBFloat16),
       download(cos, {kRows, work.head_dim}, at::kFloat), download(sin, {kRows, work.head_dim}, at::kFloat),
       download(rotated, {kRows, kHeads, work.head_dim}, at::kBFloat16),
       download(pool, {kRows + 9, 2, kKvHeads, work.head_dim}, at::kBFloat16),
       download(gated, {kRows, kWidth}, at::kBFloat16)});
}

}  // namespace bicrl
