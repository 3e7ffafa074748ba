#include "policy/gpu/pass/gpu_pass_operations.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/error.h"
#include "policy/gpu/pass/embedding_runs.h"
#include "policy/gpu/tensor_pointers.h"

namespace bicrl::gpu {
namespace {

constexpr int64_t kStagesOfPass = 4096;                                 // more than a policy has
constexpr int64_t kPack = 16 / static_cast<int64_t>(sizeof(BFloat16));  // elements that kernels move at once

MatrixProducts made_on(at::Device device) {
  const c10::cuda::CUDAGuard guard(device);
  return MatrixProducts();
}

int64_t stride_of(const at::Tensor& x) {
  BICRL_CHECK(x.dim() == 2 && x.stride(1) == 1, "a matrix of ", x.sizes(), " with strides ", x.strides());
  return x.stride(0);
}

NormRowsBackward backward_of(const PassNorm& n) {
  return {.rows = n.x.size(0),
          .width = n.x.size(1),
          .x = bf16(n.x),
          .names = int64s(n.names),
          .weight = bf16(n.weight),
          .eps = n.eps};
}

RotateHeads heads_of(const PassHeads& h) {
  return {.rows = h.qkv.size(0),
          .heads = h.heads,
          .kv_heads = h.kv_heads,
          .head_dim = h.head_dim,
          .qkv = bf16(h.qkv),
          .stride = stride_of(h.qkv),
          .q_norm = bf16(h.q_norm),
          .k_norm = bf16(h.k_norm),
          .eps = h.eps,
          .cos = fp32(h.cos),
          .sin = fp32(h.sin)};
}

}  // namespace

std::string GpuPassOperations::refusal(const PolicyConfig& c, at::Device device, at::ScalarType dtype) {
  if (!device.is_cuda()) return "the policy is not on a GPU";
  if (dtype != at::kBFloat16) return "kernels are for bf16";
  if (c.head_dim != 64 && c.head_dim != 128 && c.head_dim != 256)
    return concat("there is no kernel for a head_dim of ", c.head_dim);
  if (c.hidden_size % kPack != 0 || c.intermediate_size % kPack != 0 || c.hidden_size > kMaxNormWidth)
    return concat("kernels are for a hidden_size that is a multiple of ", kPack, " up to ", kMaxNormWidth,
                  " and an intermediate_size that is one, too");
  return "";
}

int64_t GpuPassOperations::workspace_bytes(const PolicyConfig& c, int64_t rows) {
  const int64_t of_norm = norm_partials(rows, c.hidden_size) * c.hidden_size,
                of_heads = rotate_partials(rows) * 2 * c.head_dim,
                of_embedding = (rows / EmbeddingBackward::kRunRows + 1) * c.hidden_size;
  return MatrixProducts::kWorkspaceBytes +
         std::max({of_norm, of_heads, of_embedding}) * static_cast<int64_t>(sizeof(float));
}

GpuPassOperations::GpuPassOperations(at::Device device)
    : options_(at::TensorOptions().device(device)),
      products_(made_on(device)),
      workspace_(at::empty({MatrixProducts::kWorkspaceBytes}, options_.dtype(at::kByte))),
      faults_(at::full({1}, -1, options_.dtype(at::kLong))) {}

void GpuPassOperations::multiply(const PassProduct& p) {
  MatrixProduct product;
  product.m = p.out.size(0);
  product.n = p.out.size(1);
  product.k = p.a_transposed ? p.a.size(0) : p.a.size(1);
  BICRL_CHECK((p.a_transposed ? p.a.size(1) : p.a.size(0)) == product.m &&
                  (p.b_transposed ? p.b.size(0) : p.b.size(1)) == product.n &&
                  (p.b_transposed ? p.b.size(1) : p.b.size(0)) == product.k,
              "a product of ", p.a.sizes(), " and ", p.b.sizes(), " for ", p.out.sizes());
  product.a = bf16(p.a);
  product.a_stride = stride_of(p.a);
  product.a_transposed = p.a_transposed;
  product.b = bf16(p.b);
  product.b_stride = stride_of(p.b);
  product.b_transposed = p.b_transposed;
  product.alpha = static_cast<float>(p.alpha);
  product.out = p.out.mutable_data_ptr();
  product.out_stride = stride_of(p.out);
  product.out_type = p.out.scalar_type() == at::kFloat ? ProductType::kFloat : ProductType::kBFloat16;
  if (p.addend.defined()) {
    product.addend = p.addend.const_data_ptr();
    product.addend_stride = stride_of(p.addend);
  }
  products_.run(product, workspace_.mutable_data_ptr(), current_stream());
}

// Stages of one pass after the other.
FaultRecord GpuPassOperations::fault_record(int64_t stage) const {
  return {static_cast<unsigned long long*>(faults_.mutable_data_ptr()),
          static_cast<uint32_t>(std::max<int64_t>(pass_, 0) * kStagesOfPass + stage)};
}

GpuPassOperations::Faults GpuPassOperations::take_faults() {
  pass_ = -1;
  return Faults(std::exchange(faults_, at::full({1}, -1, options_.dtype(at::kLong))));
}

std::optional<GpuPassOperations::Fault> GpuPassOperations::Faults::first() const {
  const auto key = static_cast<uint64_t>(record_.item<int64_t>());
  if (key == FaultRecord::kNoFault) return std::nullopt;
  constexpr uint64_t kRows = (uint64_t{1} << FaultRecord::kRowBits) - 1;
  const auto stage = static_cast<int64_t>(key >> FaultRecord::kRowBits);
  return Fault{stage / kStagesOfPass, stage % kStagesOfPass, static_cast<int64_t>(key & kRows)};
}

float* GpuPassOperations::partial_sums(int64_t count) {
  if (!partial_.defined() || partial_.numel() < count)
    partial_ = at::empty({count}, options_.dtype(at::kFloat));
  return fp32(partial_);
}

void GpuPassOperations::norm(const PassNorm& n, const at::Tensor& out) {
  norm_pass_rows({.rows = out.size(0),
                  .width = out.size(1),
                  .x = bf16(n.x),
                  .names = int64s(n.names),
                  .weight = bf16(n.weight),
                  .eps = n.eps,
                  .out = bf16(out),
                  .fault = fault_record(n.stage)},
                 current_stream());
}

void GpuPassOperations::norm_backward(const PassNorm& n, const at::Tensor& grad, const at::Tensor& residual,
                                      const at::Tensor& out, const at::Tensor& weight_sum) {
  NormRowsBackward work = backward_of(n);
  const int64_t partials = norm_partials(work.rows, work.width);
  work.grad = bf16(grad);
  work.residual = bf16(residual);
  work.out = bf16(out);
  work.partial = weight_sum.defined() ? partial_sums(partials * work.width) : nullptr;
  work.fault = fault_record(n.stage);
  norm_rows_backward(work, current_stream());
  if (weight_sum.defined())
    add_partials(work.partial, partials, work.width, fp32(weight_sum), current_stream());
}

void GpuPassOperations::rotation(const at::Tensor& positions, const at::Tensor& inverse_frequency,
                                 const at::Tensor& cos, const at::Tensor& sin) {
  rotation_rows({.rows = cos.size(0),
                 .head_dim = cos.size(1),
                 .positions = int64s(positions),
                 .inverse_frequency = fp32(inverse_frequency),
                 .cos = fp32(cos),
                 .sin = fp32(sin)},
                current_stream());
}

void GpuPassOperations::rotate(const PassHeads& heads, const at::Tensor& out) {
  RotateHeads work = heads_of(heads);
  work.rotated = bf16(out);
  rotate_heads(work, current_stream());
}

void GpuPassOperations::rotate_backward(const PassHeads& heads, const at::Tensor& grad,
                                        const at::Tensor& q_sum, const at::Tensor& k_sum) {
  RotateHeadsBackward work{.forward = heads_of(heads), .grad = bf16(grad), .grad_stride = stride_of(grad)};
  const int64_t partials = rotate_partials(work.forward.rows), width = 2 * heads.head_dim;
  if (q_sum.defined()) work.partial = partial_sums(partials * width);
  rotate_heads_backward(work, current_stream());
  if (!q_sum.defined()) return;
  BICRL_CHECK(fp32(k_sum) == fp32(q_sum) + heads.head_dim, "sums of norms that do not lie side by side");
  add_partials(work.partial, partials, width, fp32(q_sum), current_stream());
}

void GpuPassOperations::gate(const at::Tensor& gate_up, const at::Tensor& out) {
  swiglu<BFloat16>({.rows = out.size(0), .width = out.size(1), .gate_up = bf16(gate_up), .out = bf16(out)},
                   current_stream());
}

void GpuPassOperations::gate_backward(const at::Tensor& grad, const at::Tensor& gate_up,
                                      const at::Tensor& out) {
  swiglu_backward({.rows = grad.size(0),
                   .width = grad.size(1),
                   .grad = bf16(grad),
                   .gate_up = bf16(gate_up),
                   .out = bf16(out)},
                  current_stream());
}

void GpuPassOperations::gather(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) {
  at::Tensor to = out;
  at::index_select_out(to, from, 0, rows);
}

void GpuPassOperations::scatter(const at::Tensor& from, const at::Tensor& rows, const at::Tensor& out) {
  out.zero_();
  at::Tensor(out).index_copy_(0, rows, from);
}

void GpuPassOperations::embed_backward(const at::Tensor& grad, std::span<const int64_t> tokens,
                                       const at::Tensor& sum) {
  const EmbeddingRuns runs = embedding_runs(tokens);
  // One copy for all of the lists.
  const std::vector<const std::vector<int32_t>*> lists = {&runs.rows,     &runs.run_begin,  &runs.run_token,
                                                          &runs.run_slot, &runs.long_begin, &runs.long_token};
  size_t count = 0;
  for (const auto* list : lists) count += list->size();
  const at::Tensor host =
      at::empty({static_cast<int64_t>(count)}, at::TensorOptions().dtype(at::kInt).pinned_memory(true));
  std::vector<size_t> begins;
  size_t next = 0;
  for (const auto* list : lists) {
    begins.push_back(next);
    if (!list->empty())
      std::memcpy(host.mutable_data_ptr<int32_t>() + next, list->data(), list->size() * sizeof(int32_t));
    next += list->size();
  }
  const at::Tensor on_device = host.to(options_.device(), /*non_blocking=*/true);
  const auto list = [&](size_t i) { return on_device.const_data_ptr<int32_t>() + begins[i]; };
  embedding_backward({.width = grad.size(1),
                      .grad = bf16(grad),
                      .rows = list(0),
                      .run_begin = list(1),
                      .run_token = list(2),
                      .run_slot = list(3),
                      .runs = static_cast<int64_t>(runs.run_token.size()),
                      .long_begin = list(4),
                      .long_token = list(5),
                      .long_tokens = static_cast<int64_t>(runs.long_token.size()),
                      .partial = partial_sums(runs.slots * grad.size(1)),
                      .sum = fp32(sum)},
                     current_stream());
}

}  // namespace bicrl::gpu
