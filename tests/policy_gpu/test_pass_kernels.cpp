// Kernels of a training pass against autograd in fp64, in the PTX interpreter and on a GPU.
#include <ATen/ATen.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "common/error.h"
#include "policy/attention/attention.h"
#include "policy/gpu/pass/embedding_runs.h"
#include "policy/gpu/pass/pass_kernels.h"
#include "tests/policy_gpu/gpu_tensors.h"
#include "tests/policy_gpu/interpreter_tensors.h"

namespace bicrl {
namespace {

using namespace testing;
constexpr double kEps = 1e-6;
constexpr int64_t kRows = 19;

at::Tensor random_bf16(at::IntArrayRef shape) { return at::randn(shape).to(at::kBFloat16); }
at::Tensor leaf(const at::Tensor& x) { return x.to(at::kDouble).requires_grad_(true); }

at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.pow(2).mean(-1, true) + kEps) * weight;
}

// ---- Norms over rows.
struct NormCase {
  explicit NormCase(int64_t its_width) : width(its_width) {
    at::manual_seed(6);
    x = random_bf16({kRows, width});
    weight = random_bf16({width});
    grad = random_bf16({kRows, width});
    residual = random_bf16({kRows, width});
    names = at::randperm(kRows) + 100;
    const at::Tensor leaf_x = leaf(x), leaf_weight = leaf(weight);
    out = normed(leaf_x, leaf_weight);
    out.backward(grad.to(at::kDouble));
    grad_x = leaf_x.grad() + residual.to(at::kDouble);
    grad_weight = leaf_weight.grad();
  }
  void check(const at::Tensor& mine, const at::Tensor& mine_grad_x,
             const at::Tensor& mine_grad_weight) const {
    check_rounded("norm", mine, out.detach());
    check_rounded("its gradient", mine_grad_x.cpu(), grad_x);
    check_rounded("its weight's gradient", mine_grad_weight, grad_weight + 1, 1e-4, 1e-5);
  }

  int64_t width;
  at::Tensor x, weight, grad, residual, names, out, grad_x, grad_weight;
};

// ---- Heads of a fused product.
struct HeadsCase {
  HeadsCase(int64_t its_heads, int64_t its_kv_heads, int64_t its_head_dim)
      : heads(its_heads), kv_heads(its_kv_heads), head_dim(its_head_dim) {
    at::manual_seed(7);
    qkv = random_bf16({kRows, stride()});
    q_norm = random_bf16({head_dim});
    k_norm = random_bf16({head_dim});
    grad = random_bf16({kRows, stride()});
    const at::Tensor angles = at::randn({kRows, head_dim / 2}) * 30;
    cos = at::cat({angles.cos(), angles.cos()}, 1);
    sin = at::cat({angles.sin().neg(), angles.sin()}, 1);
    const at::Tensor leaf_qkv = leaf(qkv), leaf_q = leaf(q_norm), leaf_k = leaf(k_norm);
    const auto turn = [&](int64_t first, int64_t count, const at::Tensor& norm, bool rounds) {
      const at::Tensor some =
          leaf_qkv.narrow(1, first * head_dim, count * head_dim).view({kRows, count, head_dim});
      at::Tensor n = normed(some, norm);
      if (rounds) n = n.detach().to(at::kBFloat16).to(at::kDouble);
      return n * cos.unsqueeze(1) + at::roll(n, head_dim / 2, -1) * sin.unsqueeze(1);
    };
    rotated = at::cat({turn(0, heads, leaf_q, true), turn(heads, kv_heads, leaf_k, true)}, 1);
    at::cat({turn(0, heads, leaf_q, false), turn(heads, kv_heads, leaf_k, false)}, 1)
        .backward(grad.narrow(1, 0, all() * head_dim).view({kRows, all(), head_dim}).to(at::kDouble));
    grad_qkv = leaf_qkv.grad().narrow(1, 0, all() * head_dim);
    grad_norms = at::stack({leaf_q.grad(), leaf_k.grad()});
  }
  int64_t all() const { return heads + kv_heads; }
  int64_t stride() const { return (heads + 2 * kv_heads) * head_dim; }
  void check(const at::Tensor& mine, const at::Tensor& mine_grad, const at::Tensor& mine_grad_norms) const {
    check_rounded("rotated heads", mine, rotated);
    check_rounded("their gradient", mine_grad.cpu().narrow(1, 0, all() * head_dim), grad_qkv);
    CHECK(at::equal(mine_grad.cpu().narrow(1, all() * head_dim, kv_heads * head_dim),
                    grad.narrow(1, all() * head_dim, kv_heads * head_dim)));  // values are not turned
    check_rounded("their norms' gradients", mine_grad_norms, grad_norms, 1e-3, 1e-5);
  }

  int64_t heads, kv_heads, head_dim;
  at::Tensor qkv, q_norm, k_norm, grad, cos, sin, rotated, grad_qkv, grad_norms;
};

// ---- SwiGLU.
struct GateCase {
  static constexpr int64_t kWidth = 264;
  GateCase() {
    at::manual_seed(8);
    gate_up = random_bf16({kRows, 2 * kWidth}) * 3;
    grad = random_bf16({kRows, kWidth});
    const at::Tensor both = leaf(gate_up);
    out = at::silu(both.narrow(1, 0, kWidth)) * both.narrow(1, kWidth, kWidth);
    out.backward(grad.to(at::kDouble));
    grad_gate_up = both.grad();
  }
  void check(const at::Tensor& mine_out, const at::Tensor& mine_grad) const {
    // Two roundings: silu's, and the product's.
    check_rounded("SwiGLU", mine_out, out.detach(), 1e-3, 1.0 / 100);
    check_rounded("its gradient", mine_grad, grad_gate_up, 2e-2, 1.0 / 100);
  }
  at::Tensor gate_up, grad, out, grad_gate_up;
};

// ---- The embedding: one token has most rows.
struct EmbeddingCase {
  static constexpr int64_t kTokens = 40, kWidth = 520, kMany = 700;
  EmbeddingCase() {
    at::manual_seed(9);
    tokens = at::randint(kTokens, {kMany}, at::kLong);
    tokens.masked_fill_(at::rand({kMany}) < 0.6, 7);
    grad = random_bf16({kMany, kWidth});
    before = at::randn({kTokens, kWidth});
    expected = before.to(at::kDouble).index_add(0, tokens, grad.to(at::kDouble));
    const int64_t* first = tokens.const_data_ptr<int64_t>();
    runs = gpu::embedding_runs({first, static_cast<size_t>(kMany)});
  }
  at::Tensor tokens, grad, before, expected;
  gpu::EmbeddingRuns runs;
};

template <class T>
at::Tensor integers(const std::vector<T>& values) {
  return at::tensor(std::vector<int64_t>(values.begin(), values.end()), at::kLong).to(at::kInt);
}

}  // namespace

TEST_CASE("norms of a pass equal autograd in fp64, in the PTX interpreter", "[pass_kernels]") {
  const NormCase work(GENERATE(64, 520, 2048, 2568, 4104));
  InterpreterTensors interpreter("pass_kernels");
  const uint64_t x = interpreter.upload(work.x), weight = interpreter.upload(work.weight),
                 names = interpreter.upload(work.names),
                 out = interpreter.unwritten({kRows, work.width}, at::kBFloat16),
                 grad_x = interpreter.upload(work.residual), sum = interpreter.upload(at::ones({work.width}));
  const int64_t packs = (work.width + 2047) / 2048, lane_packs = (work.width + 255) / 256;
  const int64_t kept = lane_packs <= 4 ? 4 : lane_packs <= 8 ? 8 : lane_packs <= 16 ? 16 : 24;
  struct KernelFault {
    uint64_t record;
    uint32_t stage;
  } const fault = {interpreter.upload(at::full({1}, -1, at::kLong)), 3};
  interpreter.launch({"norm_pass_row", concat("Li", kept, "E")}, {(kRows * 32 + 255) / 256, 1, 1}, 256, x,
                     names, weight, static_cast<float>(kEps), out, fault, static_cast<int32_t>(kRows),
                     static_cast<int32_t>(work.width));
  const int64_t blocks = gpu::norm_partials(kRows, work.width);
  const uint64_t partial = interpreter.unwritten({blocks, work.width}, at::kFloat);
  struct {
    uint64_t grad, x, names, weight, residual, out, partial;
    KernelFault fault;
    float eps;
    int32_t rows, width;
  } const backward = {interpreter.upload(work.grad),
                      x,
                      names,
                      weight,
                      grad_x,
                      grad_x,
                      partial,
                      fault,
                      static_cast<float>(kEps),
                      kRows,
                      static_cast<int32_t>(work.width)};
  const int64_t threads = std::min<int64_t>((work.width / 8 + 31) / 32 * 32, 256);
  interpreter.launch({"norm_backward_rows", concat("Li", packs, "E")}, {static_cast<uint32_t>(blocks), 1, 1},
                     static_cast<uint32_t>(threads), backward);
  interpreter.launch({"add_partial_rows"}, {static_cast<uint32_t>((work.width + 31) / 32), 1, 1}, 512,
                     partial, static_cast<int32_t>(blocks), static_cast<int32_t>(work.width), sum);
  work.check(interpreter.download(out, {kRows, work.width}, at::kBFloat16),
             interpreter.download(grad_x, {kRows, work.width}, at::kBFloat16),
             interpreter.download(sum, {work.width}, at::kFloat));
  CHECK(interpreter.download(fault.record, {1}, at::kLong).item<int64_t>() == -1);
}

TEST_CASE("a norm notes the first row that is not finite", "[pass_kernels]") {
  NormCase work(520);
  work.x[4][33] = NAN;
  work.x[9][2] = INFINITY;
  const int64_t first = std::min(work.names[4].item<int64_t>(), work.names[9].item<int64_t>());
  InterpreterTensors interpreter("pass_kernels");
  struct {
    uint64_t record;
    uint32_t stage;
  } const fault = {interpreter.upload(at::full({1}, -1, at::kLong)), 3};
  interpreter.launch({"norm_pass_row", "Li4E"}, {(kRows * 32 + 255) / 256, 1, 1}, 256,
                     interpreter.upload(work.x), interpreter.upload(work.names),
                     interpreter.upload(work.weight), static_cast<float>(kEps),
                     interpreter.unwritten({kRows, work.width}, at::kBFloat16), fault,
                     static_cast<int32_t>(kRows), static_cast<int32_t>(work.width));
  CHECK(interpreter.download(fault.record, {1}, at::kLong).item<int64_t>() == (int64_t{3} << 32 | first));
}

TEST_CASE("rotation of a pass equals autograd in fp64, in the PTX interpreter", "[pass_kernels]") {
  const HeadsCase work =
      GENERATE(HeadsCase(4, 2, 128), HeadsCase(5, 5, 64), HeadsCase(3, 1, 256), HeadsCase(2, 1, 64));
  INFO("heads of " << work.head_dim);
  InterpreterTensors interpreter("pass_kernels");
  struct {
    uint64_t qkv;
    int64_t stride;
    uint64_t q_norm, k_norm, cos, sin;
    float eps;
    int32_t rows, heads, all;
  } const arguments = {interpreter.upload(work.qkv),     work.stride(),
                       interpreter.upload(work.q_norm),  interpreter.upload(work.k_norm),
                       interpreter.upload(work.cos),     interpreter.upload(work.sin),
                       static_cast<float>(kEps),         kRows,
                       static_cast<int32_t>(work.heads), static_cast<int32_t>(work.all())};
  const uint64_t rotated = interpreter.unwritten({kRows, work.all(), work.head_dim}, at::kBFloat16);
  interpreter.launch({"rotate_heads_row", concat("Li", work.head_dim, "E")}, {(kRows * 32 + 255) / 256, 1, 1},
                     256, arguments, rotated);
  const int64_t blocks = gpu::rotate_partials(kRows);
  const uint64_t grad = interpreter.upload(work.grad),
                 partial = interpreter.unwritten({blocks, 2, work.head_dim}, at::kFloat),
                 sum = interpreter.upload(at::zeros({2, work.head_dim}));
  interpreter.launch({"rotate_heads_backward_rows", concat("Li", work.head_dim, "E")},
                     {static_cast<uint32_t>(blocks), 1, 1}, 256, arguments, grad, work.stride(), partial);
  interpreter.launch({"add_partial_rows"}, {static_cast<uint32_t>((2 * work.head_dim + 31) / 32), 1, 1}, 512,
                     partial, static_cast<int32_t>(blocks), static_cast<int32_t>(2 * work.head_dim), sum);
  work.check(interpreter.download(rotated, {kRows, work.all(), work.head_dim}, at::kBFloat16),
             interpreter.download(grad, {kRows, work.stride()}, at::kBFloat16),
             interpreter.download(sum, {2, work.head_dim}, at::kFloat));
}

TEST_CASE("SwiGLU's gradient equals autograd in fp64, in the PTX interpreter", "[pass_kernels]") {
  const GateCase work;
  InterpreterTensors interpreter("pass_kernels");
  const int64_t packs = kRows * GateCase::kWidth / 8;
  const uint64_t gate_up = interpreter.upload(work.gate_up),
                 out = interpreter.unwritten({kRows, GateCase::kWidth}, at::kBFloat16);
  interpreter.launch({"swiglu_backward_pack"}, {static_cast<uint32_t>((packs + 255) / 256), 1, 1}, 256,
                     interpreter.upload(work.grad), gate_up, out, packs,
                     static_cast<int32_t>(GateCase::kWidth / 8));
  work.check(interpreter.download(out, {kRows, GateCase::kWidth}, at::kBFloat16),
             interpreter.download(gate_up, {kRows, 2 * GateCase::kWidth}, at::kBFloat16));
}

TEST_CASE("the embedding's gradient is summed by token, in the PTX interpreter", "[pass_kernels]") {
  const EmbeddingCase work;
  const gpu::EmbeddingRuns& runs = work.runs;
  CHECK(runs.long_token.size() == 1);
  InterpreterTensors interpreter("pass_kernels");
  const uint64_t partial = interpreter.unwritten({runs.slots, EmbeddingCase::kWidth}, at::kFloat),
                 sum = interpreter.upload(work.before);
  struct {
    uint64_t grad, rows, run_begin, run_token, run_slot, partial, sum;
    int32_t width;
  } const arguments = {interpreter.upload(work.grad),
                       interpreter.upload(integers(runs.rows)),
                       interpreter.upload(integers(runs.run_begin)),
                       interpreter.upload(integers(runs.run_token)),
                       interpreter.upload(integers(runs.run_slot)),
                       partial,
                       sum,
                       EmbeddingCase::kWidth};
  interpreter.launch({"sum_run", "RunArguments"},
                     {static_cast<uint32_t>(runs.run_token.size()), (EmbeddingCase::kWidth + 511) / 512, 1},
                     64, arguments);
  interpreter.launch({"sum_runs_of_token"},
                     {static_cast<uint32_t>(runs.long_token.size()), (EmbeddingCase::kWidth + 63) / 64, 1},
                     64, partial, interpreter.upload(integers(runs.long_begin)),
                     interpreter.upload(integers(runs.long_token)), sum,
                     static_cast<int32_t>(EmbeddingCase::kWidth));
  check_rounded("sum", interpreter.download(sum, {EmbeddingCase::kTokens, EmbeddingCase::kWidth}, at::kFloat),
                work.expected, 1e-4, 1e-5);
}

TEST_CASE("kernels of a pass equal autograd in fp64, on a GPU", "[pass_kernels][gpu]") {
  require_gpu();
  const gpu::Stream stream = current_stream();
  const auto empty = [](at::IntArrayRef shape, at::ScalarType type) {
    return on_gpu(at::full(shape, NAN, at::TensorOptions().dtype(type)));
  };
  const auto fp32 = [](const at::Tensor& x) { return x.mutable_data_ptr<float>(); };
  for (const int64_t width : {64, 520, 2048, 2568, 4104}) {
    INFO("norm of " << width);
    const NormCase work(width);
    const at::Tensor x = on_gpu(work.x), weight = on_gpu(work.weight), names = on_gpu(work.names),
                     grad = on_gpu(work.grad), grad_x = on_gpu(work.residual),
                     out = empty({kRows, width}, at::kBFloat16), sum = on_gpu(at::ones({width})),
                     partial = empty({gpu::norm_partials(kRows, width), width}, at::kFloat);
    const int64_t* rows = names.const_data_ptr<int64_t>();
    gpu::norm_pass_rows({.rows = kRows,
                         .width = width,
                         .x = bf16(x),
                         .names = rows,
                         .weight = bf16(weight),
                         .eps = kEps,
                         .out = bf16(out)},
                        stream);
    gpu::norm_rows_backward({.rows = kRows,
                             .width = width,
                             .grad = bf16(grad),
                             .x = bf16(x),
                             .names = rows,
                             .weight = bf16(weight),
                             .eps = kEps,
                             .residual = bf16(grad_x),
                             .out = bf16(grad_x),
                             .partial = fp32(partial)},
                            stream);
    gpu::add_partials(fp32(partial), partial.size(0), width, fp32(sum), stream);
    work.check(out, grad_x, sum);
  }
  for (const HeadsCase& work : {HeadsCase(4, 2, 128), HeadsCase(5, 5, 64), HeadsCase(3, 1, 256)}) {
    INFO("heads of " << work.head_dim);
    const at::Tensor qkv = on_gpu(work.qkv), q_norm = on_gpu(work.q_norm), k_norm = on_gpu(work.k_norm),
                     cos = on_gpu(work.cos), sin = on_gpu(work.sin), grad = on_gpu(work.grad),
                     rotated = empty({kRows, work.all(), work.head_dim}, at::kBFloat16),
                     partial = empty({gpu::rotate_partials(kRows), 2, work.head_dim}, at::kFloat),
                     sum = on_gpu(at::zeros({2, work.head_dim}));
    const gpu::RotateHeads forward{.rows = kRows,
                                   .heads = work.heads,
                                   .kv_heads = work.kv_heads,
                                   .head_dim = work.head_dim,
                                   .qkv = bf16(qkv),
                                   .stride = work.stride(),
                                   .q_norm = bf16(q_norm),
                                   .k_norm = bf16(k_norm),
                                   .eps = kEps,
                                   .cos = fp32(cos),
                                   .sin = fp32(sin),
                                   .rotated = bf16(rotated)};
    gpu::rotate_heads(forward, stream);
    gpu::rotate_heads_backward(
        {.forward = forward, .grad = bf16(grad), .grad_stride = work.stride(), .partial = fp32(partial)},
        stream);
    gpu::add_partials(fp32(partial), partial.size(0), 2 * work.head_dim, fp32(sum), stream);
    work.check(rotated, grad, sum);
  }
  {
    const GateCase work;
    const at::Tensor gate_up = on_gpu(work.gate_up), grad = on_gpu(work.grad),
                     out = empty({kRows, GateCase::kWidth}, at::kBFloat16);
    gpu::swiglu_backward({.rows = kRows,
                          .width = GateCase::kWidth,
                          .grad = bf16(grad),
                          .gate_up = bf16(gate_up),
                          .out = bf16(out)},
                         stream);
    work.check(out, gate_up);
  }
  const EmbeddingCase work;
  const auto on = [](const std::vector<int32_t>& values) { return on_gpu(integers(values)); };
  const auto ints = [](const at::Tensor& x) { return x.const_data_ptr<int32_t>(); };
  const at::Tensor grad = on_gpu(work.grad), sum = on_gpu(work.before), rows = on(work.runs.rows),
                   begin = on(work.runs.run_begin), token = on(work.runs.run_token),
                   slot = on(work.runs.run_slot), long_begin = on(work.runs.long_begin),
                   long_token = on(work.runs.long_token),
                   partial = empty({work.runs.slots, EmbeddingCase::kWidth}, at::kFloat);
  gpu::embedding_backward({.width = EmbeddingCase::kWidth,
                           .grad = bf16(grad),
                           .rows = ints(rows),
                           .run_begin = ints(begin),
                           .run_token = ints(token),
                           .run_slot = ints(slot),
                           .runs = token.numel(),
                           .long_begin = ints(long_begin),
                           .long_token = ints(long_token),
                           .long_tokens = long_token.numel(),
                           .partial = fp32(partial),
                           .sum = fp32(sum)},
                          stream);
  check_rounded("embedding", sum, work.expected, 1e-4, 1e-5);
}

}  // namespace bicrl
