// Two backends side by side (training_attention.h).
#include <ATen/ATen.h>

#include "common/error.h"
#include "policy/attention/training_attention.h"

namespace bicrl {
namespace {

// got, expected: [rows, heads, dim].
void check_near(const std::string& name, const at::Tensor& got, const at::Tensor& expected,
                double tolerance) {
  const at::Tensor wide = expected.to(at::kDouble);
  const at::Tensor gap = (got.to(at::kDouble) - wide).abs().amax(-1).nan_to_num(1e300);  // [rows, heads]
  if (gap.numel() == 0) return;
  const double allowed = tolerance * wide.square().mean().sqrt().item<double>();
  const int64_t worst = gap.argmax().item<int64_t>();
  const double largest = gap.flatten()[worst].item<double>();
  if (!(largest <= allowed))
    throw Error(concat("attention: ", name, " of row ", worst / gap.size(1), ", head ", worst % gap.size(1),
                       " is ", largest, " from what the trusted backend computes; allowed are ", allowed));
}

class CheckedAttention : public TrainingAttention {
 public:
  CheckedAttention(std::unique_ptr<TrainingAttention> tested, std::unique_ptr<TrainingAttention> trusted,
                   double tolerance)
      : tested_(std::move(tested)), trusted_(std::move(trusted)), tolerance_(tolerance) {}
  int64_t rows() const override { return tested_->rows(); }
  void upload() override {
    tested_->upload();
    trusted_->upload();
  }
  int64_t state_elements(const at::Tensor& q) const override { return tested_->state_elements(q); }

  void forward(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
               const at::Tensor& state) override {
    tested_->forward(q, k, v, out, state);
    const at::Tensor expected = at::empty(out.sizes(), out.options());
    trusted_->forward(q, k, v, expected, trusted_->new_state(q));
    check_near("out", out, expected, tolerance_);
  }

  void backward(const at::Tensor& grad_out, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                const at::Tensor& out, const at::Tensor& state, const at::Tensor& grad_q,
                const at::Tensor& grad_k, const at::Tensor& grad_v) override {
    tested_->backward(grad_out, q, k, v, out, state, grad_q, grad_k, grad_v);
    const auto alike = [](const at::Tensor& x) { return at::empty(x.sizes(), x.options()); };
    const at::Tensor its_out = alike(out), its_state = trusted_->new_state(q);
    const at::Tensor its_q = alike(q), its_k = alike(k), its_v = alike(v);
    trusted_->forward(q, k, v, its_out, its_state);
    trusted_->backward(grad_out, q, k, v, its_out, its_state, its_q, its_k, its_v);
    check_near("the gradient of q", grad_q, its_q, tolerance_);
    check_near("the gradient of k", grad_k, its_k, tolerance_);
    check_near("the gradient of v", grad_v, its_v, tolerance_);
  }

 private:
  std::unique_ptr<TrainingAttention> tested_, trusted_;
  double tolerance_;
};

class CheckedBackend : public AttentionBackend {
 public:
  CheckedBackend(std::unique_ptr<AttentionBackend> tested, std::unique_ptr<AttentionBackend> trusted,
                 double tolerance)
      : tested_(std::move(tested)), trusted_(std::move(trusted)), tolerance_(tolerance) {}
  std::string name() const override {
    return concat(tested_->name(), ", checked against ", trusted_->name());
  }
  AttentionMemory memory(const std::vector<PackedSegment>& segments, int64_t rows) const override {
    AttentionMemory sum = tested_->memory(segments, rows);
    const AttentionMemory its = trusted_->memory(segments, rows);
    sum.plan_bytes += its.plan_bytes;
    sum.forward_bytes += its.forward_bytes + its.kept_bytes;
    sum.backward_bytes += its.backward_bytes + its.forward_bytes + 2 * its.kept_bytes;
    return sum;
  }
  std::unique_ptr<TrainingAttention> make(const std::vector<PackedSegment>& segments,
                                          int64_t rows) const override {
    return std::make_unique<CheckedAttention>(tested_->make(segments, rows), trusted_->make(segments, rows),
                                              tolerance_);
  }

 private:
  std::unique_ptr<AttentionBackend> tested_, trusted_;
  double tolerance_;
};

}  // namespace

std::unique_ptr<AttentionBackend> checked_attention(std::unique_ptr<AttentionBackend> tested,
                                                    std::unique_ptr<AttentionBackend> trusted,
                                                    double tolerance) {
  return std::make_unique<CheckedBackend>(std::move(tested), std::move(trusted), tolerance);
}

}  // namespace bicrl
