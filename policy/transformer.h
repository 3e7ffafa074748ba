// The SDAR transformer: embedding, L x {RMSNorm, attention, RMSNorm, SwiGLU}, RMSNorm, head. No logit shift:
// the logits at position i predict token i. Source of the formulas: Qwen3 (QK-norm over head_dim before
// rotate-half RoPE, grouped-query attention, scale 1/sqrt(head_dim)) with SDAR's block-causal attention,
// which is the AttentionContext's business.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policy/attention.h"
#include "policy/parameter_residency.h"
#include "policy/parameter_store.h"
#include "policy/policy_config.h"
#include "policy/recompute.h"

namespace bicrl {

// Owns the parameters, which lie in its store. Forward is const and re-entrant; changing parameters is not
// thread-safe.
class Transformer {
 public:
  // Parameters drawn N(0, initializer_range) from `seed` (norms are 1), the same on every device.
  static Transformer random(const PolicyConfig& config, uint64_t seed, at::Device device,
                            at::ScalarType dtype);
  // Copies tensors by their Hugging Face names. Throws InputError naming a missing, extra or misshapen
  // tensor.
  static Transformer from_tensors(const PolicyConfig& config, std::map<std::string, at::Tensor> tensors,
                                  at::Device device, at::ScalarType dtype);

  Transformer clone() const;  // with parameters of its own

  // tokens, positions: [T] int64 on device(). Returns the final-normed hidden states [T, hidden].
  at::Tensor hidden(const at::Tensor& tokens, const at::Tensor& positions, AttentionContext& attention) const;
  // hidden rows [N, hidden] -> logits [N, vocab], fp32 (policy/head.h).
  at::Tensor logits(const at::Tensor& hidden_rows) const;
  const at::Tensor& head() const { return head_; }  // [vocab, hidden]; the embedding if they are tied

  const PolicyConfig& config() const { return config_; }
  at::Device device() const;
  at::ScalarType dtype() const;
  // Hugging Face name -> tensor, in a fixed order. The tensors are the live parameters (no copies);
  // lm_head.weight is absent if the head is tied.
  const NamedTensors& parameters() const { return store_->values(); }
  ParameterStore& store() { return *store_; }
  // For parameters that are not in memory all the time; null (as at first): they are. To outlive its use.
  void set_residency(ParameterResidency* residency) { residency_ = residency; }
  // Of forwards with a graph from here on, whose attention context must live until their backward pass is
  // over.
  void set_recompute(Recompute recompute) { recompute_ = recompute; }

 private:
  Transformer(const PolicyConfig& config, at::Device device, at::ScalarType dtype);  // values of zero
  struct Layer {
    at::Tensor input_norm, post_norm, q, k, v, o, q_norm, k_norm, gate, up, down;
  };
  struct Rotation;
  void bind();  // fills the named fields from parameters()
  Rotation rotation(const at::Tensor& positions) const;
  // x: [T, hidden] -> what the branch adds to it.
  at::Tensor attention_branch(int64_t index, const at::Tensor& x, const Rotation& rotation,
                              AttentionContext& attention) const;
  at::Tensor mlp_branch(int64_t index, const at::Tensor& x) const;
  at::Tensor layer(int64_t index, const at::Tensor& x, const Rotation& rotation,
                   AttentionContext& attention) const;
  template <class Work>
  void with_group(int64_t group, const Work& work) const;  // with its values present

  PolicyConfig config_;
  std::unique_ptr<ParameterStore> store_;
  ParameterResidency* residency_ = nullptr;
  Recompute recompute_ = Recompute::kNone;
  at::Tensor embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
  at::Tensor inverse_frequency_;  // [head_dim / 2], fp32
};

}  // namespace bicrl
