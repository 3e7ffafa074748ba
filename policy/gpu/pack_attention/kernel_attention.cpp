#include "policy/gpu/pack_attention/kernel_attention.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <span>

#include "common/error.h"
#include "policy/gpu/pack_attention/pack_tables.h"

namespace bicrl::gpu {
namespace {

constexpr int64_t kFloat = sizeof(float), kLow = sizeof(BFloat16);

PackAttentionShape plan_shape(const AttentionShape& shape) {
  const c10::cuda::CUDAGuard device(shape.device);
  return {shape.heads, shape.kv_heads, shape.head_dim, shape.block_size, pack_processors()};
}

// [rows, heads, head_dim] with a row's heads side by side and sixteen bytes at a time.
HeadRows rows_of(const at::Tensor& x, int64_t rows, int64_t heads, int64_t head_dim) {
  BICRL_CHECK(x.scalar_type() == at::kBFloat16 && x.dim() == 3 && x.size(0) == rows && x.size(1) == heads &&
                  x.size(2) == head_dim && (heads == 1 || x.stride(1) == head_dim) && x.stride(2) == 1,
              "attention of ", rows, " rows, ", heads, " heads of ", head_dim, ": got ", x.sizes(), " of ",
              x.scalar_type(), " with strides ", x.strides());
  const auto address = reinterpret_cast<uintptr_t>(x.const_data_ptr());
  BICRL_CHECK(address % 16 == 0 && x.stride(0) * kLow % 16 == 0,
              "rows of heads begin between two sixteen bytes");
  return {static_cast<BFloat16*>(const_cast<void*>(x.const_data_ptr())), x.stride(0)};
}

class KernelAttention : public TrainingAttention {
 public:
  KernelAttention(const AttentionShape& shape, const std::vector<PackedSegment>& segments, int64_t rows)
      : shape_(shape),
        plan_(plan_pack_attention(segments, rows, plan_shape(shape))),
        host_tables_(
            at::empty({pack_table_bytes(plan_)}, at::TensorOptions().dtype(at::kByte).pinned_memory(true))) {
    write_pack_tables(plan_, std::as_writable_bytes(std::span(host_tables_.mutable_data_ptr<uint8_t>(),
                                                              static_cast<size_t>(host_tables_.numel()))));
    const c10::cuda::CUDAGuard device(shape.device);
    form_ = best_pack_form();
  }

  int64_t rows() const override { return plan_.rows; }
  void upload() override {
    if (!tables_.defined()) tables_ = host_tables_.to(shape_.device, at::kByte, /*non_blocking=*/true);
  }
  int64_t state_elements(const at::Tensor&) const override { return pack_log_sums(plan_.rows, shape_.heads); }

  void forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
               const at::Tensor& state) override {
    const c10::cuda::CUDAGuard device(shape_.device);
    PackWork work = work_of(q, k, v, out, state);
    pack_attention_forward(work, form_, stream());
  }

  void backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const at::Tensor& out, const at::Tensor& state, const at::Tensor& grad_q,
                const at::Tensor& grad_k, const at::Tensor& grad_v) override {
    const c10::cuda::CUDAGuard device(shape_.device);
    PackWork work = work_of(q, k, v, out, state);
    const at::Tensor deltas = at::empty_like(state);
    const at::Tensor parts =
        at::empty({plan_.key_parts * pack_part_floats(shape_.head_dim)}, state.options());
    BICRL_CHECK(grad_out.is_contiguous(), "a gradient of outputs that is not contiguous");
    work.grad_out = query_rows(grad_out).first;
    work.grad_q = query_rows(grad_q);
    work.grad_k = key_rows(grad_k);
    work.grad_v = key_rows(grad_v);
    work.deltas = deltas.mutable_data_ptr<float>();
    work.parts = parts.mutable_data_ptr<float>();
    pack_attention_backward(work, form_, stream());
  }

 private:
  static Stream stream() { return c10::cuda::getCurrentCUDAStream().stream(); }
  HeadRows query_rows(const at::Tensor& x) const {
    return rows_of(x, plan_.rows, shape_.heads, shape_.head_dim);
  }
  HeadRows key_rows(const at::Tensor& x) const {
    return rows_of(x, plan_.rows, shape_.kv_heads, shape_.head_dim);
  }

  PackWork work_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
                   const at::Tensor& state) {
    upload();
    BICRL_CHECK(out.is_contiguous() && state.is_contiguous() && state.scalar_type() == at::kFloat &&
                state.numel() == pack_log_sums(plan_.rows, shape_.heads));
    return {.rows = plan_.rows,
            .heads = shape_.heads,
            .kv_heads = shape_.kv_heads,
            .head_dim = shape_.head_dim,
            .block_size = shape_.block_size,
            .run_rows = plan_.run_rows,
            .scale = 1.0f / std::sqrt(static_cast<float>(shape_.head_dim)),
            .tables = pack_tables_at(plan_, tables_.const_data_ptr()),
            .q = query_rows(q),
            .k = key_rows(k),
            .v = key_rows(v),
            .out = query_rows(out).first,
            .log_sums = state.mutable_data_ptr<float>()};
  }

  const AttentionShape shape_;
  const PackAttentionPlan plan_;
  PackForm form_ = PackForm::kPortable;
  at::Tensor host_tables_, tables_;  // [bytes]; on the device from upload() on
};

class KernelBackend : public AttentionBackend {
 public:
  explicit KernelBackend(const AttentionShape& shape) : shape_(shape) {
    const std::string refusal = kernel_attention_refusal(shape);
    BICRL_CHECK(refusal.empty(), "there are no attention kernels for ", refusal);
  }
  std::string name() const override { return "kernels"; }

  AttentionMemory memory(const std::vector<PackedSegment>& segments, int64_t rows) const override {
    const PackAttentionPlan plan = plan_pack_attention(segments, rows, plan_shape(shape_));
    const int64_t sums = pack_log_sums(rows, shape_.heads) * kFloat;
    return {.plan_bytes = pack_table_bytes(plan),
            .kept_bytes = rows * shape_.heads * shape_.head_dim * kLow + sums,
            .forward_bytes = 0,
            .backward_bytes = sums + plan.key_parts * pack_part_floats(shape_.head_dim) * kFloat};
  }

  std::unique_ptr<TrainingAttention> make(const std::vector<PackedSegment>& segments,
                                          int64_t rows) const override {
    return std::make_unique<KernelAttention>(shape_, segments, rows);
  }

 private:
  AttentionShape shape_;
};

}  // namespace

std::string kernel_attention_refusal(const AttentionShape& shape) {
  if (!shape.device.is_cuda()) return concat("device ", shape.device);
  if (shape.dtype != at::kBFloat16) return concat("values of type ", shape.dtype);
  return pack_attention_refusal({shape.heads, shape.kv_heads, shape.head_dim, shape.block_size});
}

std::unique_ptr<AttentionBackend> kernel_attention(const AttentionShape& shape) {
  return std::make_unique<KernelBackend>(shape);
}

}  // namespace bicrl::gpu
