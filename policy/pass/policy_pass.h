// One forward and backward of a policy over a pack, written out instead of walked by autograd: embedding,
// layers and final norm, with products fused over weights that lie side by side, activations in memory that
// is laid out once, and gradients added to their sums in place. The layers are those of transformer.h; what
// they are made of is behind PassOperations. Refers to policy and operations; owns activations.
// Not thread-safe.
//
// What the last layer does behind its attention is done for the selected rows alone, as nobody asks for the
// others.
//
// Selective recomputation runs the kernels of norms, rotation and SwiGLU again, and no product; full
// recomputation the whole layer but for its last product (pass_activations.h says what is kept).
#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/attention/training_attention.h"
#include "policy/pass/fused_projection.h"
#include "policy/pass/gradient_sink.h"
#include "policy/pass/pass_activations.h"
#include "policy/pass/pass_operations.h"
#include "policy/transformer.h"

namespace bicrl {

// Rows of one pack. What it refers to must live until the backward pass is over.
struct PassInput {
  at::Tensor tokens;                     // [rows] int64, on the device
  at::Tensor positions;                  // [rows] int64
  at::Tensor selected;                   // [selected] int64, rows whose hidden states are wanted, each once
  std::span<const int64_t> host_tokens;  // [rows]
  TrainingAttention* attention = nullptr;
};

class PolicyPass {
 public:
  // What the passes of at most so many rows, of which at most so many are selected, need in memory.
  static PassActivations::Shape activations(const PolicyConfig& config, int64_t max_rows,
                                            int64_t max_selected, Recompute recompute,
                                            const std::optional<LoraConfig>& lora);

  PolicyPass(const Transformer& policy, PassOperations& operations, int64_t max_rows, int64_t max_selected,
             Recompute recompute);

  // Final-normed hidden states of the selected rows: [selected, hidden]. Unless a backward pass follows,
  // nothing is kept for one.
  at::Tensor forward(const PassInput& input, bool is_followed_by_backward);
  // Of the last forward. grad: of what it returned. Gradients of a head of its own are to be in the last
  // group's sum already, those of a tied one in the embedding's.
  void backward(const at::Tensor& grad, GradientSink& sink);

  // What a number that is not finite is called by the stage in which it came up (PassNorm::stage).
  static std::string stage_name(int64_t stage, int64_t layers);
  static int64_t head_stage(int64_t layers) { return 2 * layers + 1; }

 private:
  struct LayerParts {
    FusedProjection qkv, out, gate_up, down;
    int64_t first_entry = 0;  // of the layer in the policy's layout
  };
  struct Heads {
    at::Tensor q, k, v;  // [rows, heads, head_dim]
  };
  LayerParts parts_of(int64_t layer) const;
  std::array<FusedProjection*, 4> all_parts(int64_t layer);
  PassNorm norm_of(const at::Tensor& x, const at::Tensor& weight, int64_t stage) const;
  PassNorm post_norm(int64_t layer, int64_t stage) const;
  PassNorm final_norm(int64_t stage) const;
  PassHeads heads_of(int64_t layer) const;
  Heads heads_in(const at::Tensor& qkv) const;
  Heads attended(int64_t layer) const;  // rotated queries and keys, values of the product
  at::Tensor low_rank(const at::Tensor& all, int64_t layer, const FusedProjection& part) const;
  bool is_last(int64_t layer) const { return layer + 1 == config_.layers; }
  at::Tensor norm_sum(int64_t entry, GradientSink& sink) const;  // undefined if it is frozen
  int64_t backward_stage(int64_t layer) const;

  void layer_forward(int64_t layer, bool with_last_product);
  void mlp_forward(int64_t layer, bool with_last_product);
  void mlp_backward(int64_t layer, const PassGradients& g, GradientSink& sink);
  void rows_backward(int64_t layer, GradientSink& sink);
  void selected_backward(int64_t layer, GradientSink& sink);
  void out_backward(int64_t layer, const PassGradients& g, const at::Tensor& mixed, GradientSink& sink);
  void attention_backward(int64_t layer, GradientSink& sink);

  const Transformer& policy_;
  const PolicyConfig config_;
  PassOperations& operations_;
  const Recompute recompute_;
  const bool is_frozen_;
  std::vector<LayerParts> parts_;
  PassActivations activations_;
  at::Tensor cos_, sin_;  // [max rows, head_dim] fp32

  PassInput input_;
  PassGradients gradients_;
  std::vector<at::Tensor> states_;  // of attention, by layer
  at::Tensor turn_cos_, turn_sin_;  // of this pack's rows
};

}  // namespace bicrl
