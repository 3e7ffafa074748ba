// The SDAR transformer: embedding, L x {RMSNorm, attention, RMSNorm, SwiGLU}, RMSNorm, head. No logit shift:
// the logits at position i predict token i. Source of the formulas: Qwen3 (QK-norm over head_dim before
// rotate-half RoPE, grouped-query attention, scale 1/sqrt(head_dim)) with SDAR's block-causal attention,
// which is the AttentionContext's business.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/attention/attention.h"
#include "policy/files/tensor_source.h"
#include "policy/lora_config.h"
#include "policy/parameters/parameter_residency.h"
#include "policy/parameters/parameter_store.h"
#include "policy/pass/recompute.h"
#include "policy/policy_config.h"
#include "policy/projection.h"

namespace bicrl {

// Owns the parameters, which lie in its store, and its adapters, if it has any, which lie in a store of their
// own. Forward is const and re-entrant; changing parameters is not thread-safe.
class Transformer {
 public:
  // Parameters drawn N(0, initializer_range) from `seed` (norms are 1), the same on every device.
  static Transformer random(const PolicyConfig& config, uint64_t seed, at::Device device,
                            at::ScalarType dtype);
  // Copies tensors by their Hugging Face names, piece by piece. Throws InputError naming a missing, extra or
  // misshapen tensor.
  static Transformer from_source(const PolicyConfig& config, const TensorSource& source, at::Device device,
                                 at::ScalarType dtype);
  static Transformer from_tensors(const PolicyConfig& config, std::map<std::string, at::Tensor> tensors,
                                  at::Device device, at::ScalarType dtype);

  Transformer clone() const;  // with parameters and adapters of its own

  // Low-rank adapters beside the projections that `lora` names. From here on they are what is trained, and
  // the parameters are frozen. A is drawn from `seed` uniformly within 1 / sqrt(in) (Kaiming's bound with
  // slope sqrt(5), as the PEFT library draws it), B is zero, so that the policy is the one that it was.
  // Throws InputError on adapters that do not fit.
  void add_adapters(const LoraConfig& lora, uint64_t seed);
  const std::optional<LoraConfig>& lora() const { return lora_; }
  bool has_adapters() const { return lora_.has_value(); }
  // Only of a policy with adapters, whose frozen parameters are shared, not copied: the policy without them,
  // and the policy with a copy of them as they are now.
  Transformer base() const;
  Transformer frozen_copy() const;
  // A parameter as it is exported: with the adapter beside it added (projection.h); the live one if it has
  // none.
  at::Tensor merged(const std::string& name) const;

  // tokens, positions: [T] int64 on device(). Returns the final-normed hidden states [T, hidden].
  // The observer sees each layer's input [T, hidden] and the last one's output.
  using LayerObserver = std::function<void(int64_t layer, const at::Tensor& input)>;
  at::Tensor hidden(const at::Tensor& tokens, const at::Tensor& positions, AttentionContext& attention,
                    const LayerObserver& observer = {}) const;
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
  const ParameterStore& store() const { return *store_; }
  // What training changes: the adapters of a policy that has them, else all parameters.
  ParameterStore& trained() { return adapters_ ? *adapters_ : *store_; }
  const ParameterStore& trained() const { return adapters_ ? *adapters_ : *store_; }
  // The live parameters by their part in the forward.
  struct Layer {
    at::Tensor input_norm, post_norm, q_norm, k_norm;
    Projection q, k, v, o, gate, up, down;
  };
  const std::vector<Layer>& layers() const { return layers_; }
  const at::Tensor& embedding() const { return embedding_; }                  // [vocab, hidden]
  const at::Tensor& final_norm() const { return final_norm_; }                // [hidden]
  const at::Tensor& inverse_frequency() const { return inverse_frequency_; }  // [head_dim / 2], fp32

  // For parameters that are not in memory all the time; null (as at first): they are. To outlive its use.
  void set_residency(ParameterResidency* residency) { residency_ = residency; }
  // `work` of a forward pass with a group's values present; and before the backward pass of a layer.
  template <class Work>
  void with_group(int64_t group, const Work& work) const {
    if (residency_) residency_->before_forward(group);
    work();
    if (residency_) residency_->after_forward(group);
  }
  void before_backward(int64_t group) const {
    if (residency_) residency_->before_backward(group);
  }
  // Of forwards with a graph from here on, whose attention context must live until their backward pass is
  // over.
  void set_recompute(Recompute recompute) { recompute_ = recompute; }

 private:
  Transformer(const PolicyConfig& config, at::Device device, at::ScalarType dtype);  // values of zero
  Transformer(const PolicyConfig& config, std::shared_ptr<ParameterStore> store);
  void bind();  // fills the named fields from parameters()
  // ---- transformer_adapters.cpp ----
  void make_adapters(const LoraConfig& lora);  // of zeros
  void copy_adapters(const Transformer& from);
  void bind_adapters();          // those of projections from adapters_
  bool trains_adapters() const;  // a graph is built that reaches them
  // ----
  Rotation rotation(const at::Tensor& positions) const;
  // x: [T, hidden] -> what the branch adds to it.
  at::Tensor attention_branch(int64_t index, const at::Tensor& x, const Rotation& rotation,
                              AttentionContext& attention) const;
  at::Tensor mlp_branch(int64_t index, const at::Tensor& x) const;
  at::Tensor layer(int64_t index, const at::Tensor& x, const Rotation& rotation,
                   AttentionContext& attention) const;
  PolicyConfig config_;
  std::shared_ptr<ParameterStore> store_;  // several policies have one if it is frozen
  std::optional<LoraConfig> lora_;
  std::unique_ptr<ParameterStore> adapters_;  // null without
  ParameterResidency* residency_ = nullptr;
  Recompute recompute_ = Recompute::kNone;
  at::Tensor embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
  at::Tensor inverse_frequency_;  // [head_dim / 2], fp32
};

}  // namespace bicrl
