#include "policy/pass/policy_pass.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "common/error.h"

namespace bicrl {
namespace {

// A layer's entries in the order of the layout.
enum LayerEntry : int64_t {
  kInputNorm = 0,
  kQuery = 1,
  kOut = 4,
  kQueryNorm = 5,
  kKeyNorm,
  kPostNorm,
  kGate,
  kDown = 10
};

int64_t ranks_of(const LoraConfig& lora) { return lora.rank * static_cast<int64_t>(lora.targets.size()); }

}  // namespace

PassActivations::Shape PolicyPass::activations(const PolicyConfig& config, int64_t max_rows,
                                               int64_t max_selected, Recompute recompute,
                                               const std::optional<LoraConfig>& lora) {
  return {config, max_rows, max_selected, lora ? ranks_of(*lora) : 0, recompute};
}

PolicyPass::PolicyPass(const Transformer& policy, PassOperations& operations, int64_t max_rows,
                       int64_t max_selected, Recompute recompute)
    : policy_(policy),
      config_(policy.config()),
      operations_(operations),
      recompute_(recompute),
      is_frozen_(policy.has_adapters()),
      activations_(activations(config_, max_rows, max_selected, recompute, policy.lora()),
                   at::TensorOptions().device(policy.device()).dtype(policy.dtype())) {
  for (int64_t i = 0; i < config_.layers; ++i) parts_.push_back(parts_of(i));
  const auto angles = at::TensorOptions().device(policy.device()).dtype(at::kFloat);
  cos_ = at::empty({max_rows, config_.head_dim}, angles);
  sin_ = at::empty({max_rows, config_.head_dim}, angles);
}

PolicyPass::LayerParts PolicyPass::parts_of(int64_t layer) const {
  const ParameterStore& store = policy_.store();
  const ParameterLayout& trained = policy_.trained().layout();
  const Transformer::Layer& l = policy_.layers()[static_cast<size_t>(layer)];
  const std::string name = concat("model.layers.", layer, ".");
  const auto fused = [&](const char* first, const char* last) {
    return store.fused(name + first + ".weight", name + last + ".weight");
  };
  const int64_t first = store.layout().group(store.layout().layer_group(layer)).first;
  int64_t adapter = is_frozen_ ? trained.group(layer).first : 0;
  const auto part = [&](at::Tensor weight, std::vector<const Projection*> parts, int64_t entry) {
    FusedProjection made(std::move(weight), std::move(parts), trained, is_frozen_ ? adapter : first + entry,
                         is_frozen_);
    adapter += 2 * made.adapters();
    return made;
  };
  FusedProjection qkv = part(fused("self_attn.q_proj", "self_attn.v_proj"), {&l.q, &l.k, &l.v}, kQuery);
  FusedProjection out = part(l.o.weight, {&l.o}, kOut);
  FusedProjection gate_up = part(fused("mlp.gate_proj", "mlp.up_proj"), {&l.gate, &l.up}, kGate);
  return {std::move(qkv), std::move(out), std::move(gate_up), part(l.down.weight, {&l.down}, kDown), first};
}

PassNorm PolicyPass::norm_of(const at::Tensor& x, const at::Tensor& weight, int64_t stage) const {
  return {.x = x, .weight = weight, .eps = config_.rms_norm_eps, .stage = stage};
}

PassHeads PolicyPass::heads_of(int64_t layer) const {
  const Transformer::Layer& l = policy_.layers()[static_cast<size_t>(layer)];
  return {.qkv = activations_.layer(layer).qkv,
          .heads = config_.heads,
          .kv_heads = config_.kv_heads,
          .head_dim = config_.head_dim,
          .q_norm = l.q_norm,
          .k_norm = l.k_norm,
          .eps = config_.rms_norm_eps,
          .cos = turn_cos_,
          .sin = turn_sin_};
}

// Columns of a product's rows as heads.
PolicyPass::Heads PolicyPass::heads_in(const at::Tensor& qkv) const {
  const auto some = [&](int64_t first, int64_t count) {
    return qkv.narrow(1, first * config_.head_dim, count * config_.head_dim)
        .unflatten(1, {count, config_.head_dim});
  };
  const int64_t keys = config_.heads, values = config_.heads + config_.kv_heads;
  return {some(0, config_.heads), some(keys, config_.kv_heads), some(values, config_.kv_heads)};
}

PolicyPass::Heads PolicyPass::attended(int64_t layer) const {
  const LayerActivations& a = activations_.layer(layer);
  const at::Tensor heads = a.rotated.unflatten(1, {config_.heads + config_.kv_heads, config_.head_dim});
  return {heads.narrow(1, 0, config_.heads), heads.narrow(1, config_.heads, config_.kv_heads),
          heads_in(a.qkv).v};
}

// The columns of a layer's adapters that are a part's, of the rows that it has.
at::Tensor PolicyPass::low_rank(const at::Tensor& all, int64_t layer, const FusedProjection& part) const {
  if (!all.defined()) return all;
  const LayerParts& parts = parts_[static_cast<size_t>(layer)];
  int64_t first = 0;
  for (const FusedProjection* other : {&parts.qkv, &parts.out, &parts.gate_up}) {
    if (other == &part) break;
    first += other->low_rank_columns();
  }
  const at::Tensor columns = all.narrow(1, first, part.low_rank_columns());
  return is_last(layer) && &part != &parts.qkv ? columns.narrow(0, 0, input_.selected.size(0)) : columns;
}

at::Tensor PolicyPass::norm_sum(int64_t entry, GradientSink& sink) const {
  return is_frozen_ ? at::Tensor() : gradient_sum(policy_.store().layout(), entry, 1, sink);
}

at::Tensor PolicyPass::forward(const PassInput& input, bool is_followed_by_backward) {
  const at::NoGradGuard guard;
  input_ = input;
  const int64_t rows = input.tokens.size(0);
  BICRL_CHECK(input.attention && input.attention->rows() == rows, rows, " rows");
  activations_.view(rows, input.selected.size(0), is_followed_by_backward);
  turn_cos_ = cos_.narrow(0, 0, rows);
  turn_sin_ = sin_.narrow(0, 0, rows);
  const bool keeps_states = is_followed_by_backward && recompute_ != Recompute::kFull;
  states_.clear();
  const at::Tensor like = activations_.layer(0).mixed.unflatten(1, {config_.heads, config_.head_dim});
  for (int64_t i = 0; i < config_.layers; ++i)
    states_.push_back(i > 0 && !keeps_states ? states_[0] : input.attention->new_state(like));
  operations_.rotation(input.positions, policy_.inverse_frequency(), turn_cos_, turn_sin_);
  const ParameterLayout& layout = policy_.store().layout();
  policy_.with_group(0,
                     [&] { operations_.gather(policy_.embedding(), input.tokens, activations_.layer(0).x); });
  for (int64_t i = 0; i < config_.layers; ++i)
    policy_.with_group(layout.layer_group(i), [&] {
      for (FusedProjection* part : all_parts(i)) part->refresh();
      layer_forward(i, /*with_last_product=*/true);
    });
  at::Tensor hidden = at::empty_like(activations_.last_sum());
  policy_.with_group(layout.final_group(), [&] { operations_.norm(final_norm(2 * config_.layers), hidden); });
  return hidden;
}

PassNorm PolicyPass::final_norm(int64_t stage) const {
  PassNorm norm = norm_of(activations_.last_sum(), policy_.final_norm(), stage);
  norm.names = input_.selected;
  return norm;
}

PassNorm PolicyPass::post_norm(int64_t layer, int64_t stage) const {
  const Transformer::Layer& l = policy_.layers()[static_cast<size_t>(layer)];
  PassNorm norm = norm_of(activations_.layer(layer).middle, l.post_norm, stage);
  if (is_last(layer)) norm.names = input_.selected;
  return norm;
}

std::array<FusedProjection*, 4> PolicyPass::all_parts(int64_t layer) {
  LayerParts& parts = parts_[static_cast<size_t>(layer)];
  return {&parts.qkv, &parts.out, &parts.gate_up, &parts.down};
}

void PolicyPass::layer_forward(int64_t layer, bool with_last_product) {
  const Transformer::Layer& l = policy_.layers()[static_cast<size_t>(layer)];
  const LayerParts& parts = parts_[static_cast<size_t>(layer)];
  const LayerActivations& a = activations_.layer(layer);
  const at::Tensor none;
  const auto project = [&](const FusedProjection& part, const at::Tensor& x, const at::Tensor& out,
                           const at::Tensor& addend) {
    part.forward(operations_, x, out, addend, low_rank(a.low_rank, layer, part));
  };
  operations_.norm(norm_of(a.x, l.input_norm, 2 * layer), a.first_normed);
  project(parts.qkv, a.first_normed, a.qkv, none);
  operations_.rotate(heads_of(layer), a.rotated.unflatten(1, {-1, config_.head_dim}));
  const Heads heads = attended(layer);
  input_.attention->forward(heads.q, heads.k, heads.v,
                            a.mixed.unflatten(1, {config_.heads, config_.head_dim}),
                            states_[static_cast<size_t>(layer)]);
  if (is_last(layer)) {
    const at::Tensor& mixed = activations_.selected().mixed;
    operations_.gather(a.mixed, input_.selected, mixed);
    operations_.gather(a.x, input_.selected, a.middle);
    project(parts.out, mixed, a.middle, a.middle);
  } else {
    project(parts.out, a.mixed, a.middle, a.x);
  }
  mlp_forward(layer, with_last_product);
}

void PolicyPass::mlp_forward(int64_t layer, bool with_last_product) {
  const LayerParts& parts = parts_[static_cast<size_t>(layer)];
  const LayerActivations& a = activations_.layer(layer);
  const auto project = [&](const FusedProjection& part, const at::Tensor& x, const at::Tensor& out,
                           const at::Tensor& addend) {
    part.forward(operations_, x, out, addend, low_rank(a.low_rank, layer, part));
  };
  const at::Tensor none;
  operations_.norm(post_norm(layer, 2 * layer + 1), a.second_normed);
  project(parts.gate_up, a.second_normed, a.gate_up, none);
  operations_.gate(a.gate_up, a.gated);
  if (with_last_product)
    project(parts.down, a.gated, activations_.layer(layer + 1).x, a.middle);
  else
    parts.down.low_rank_forward(operations_, a.gated, low_rank(a.low_rank, layer, parts.down));
}

void PolicyPass::backward(const at::Tensor& grad, GradientSink& sink) {
  const at::NoGradGuard guard;
  const ParameterLayout& layout = policy_.store().layout();
  gradients_ = activations_.gradients(input_.tokens.size(0), input_.selected.size(0));
  operations_.norm_backward(final_norm(head_stage(config_.layers) + 1), grad, at::Tensor(),
                            gradients_.selected_x, norm_sum(layout.group(layout.final_group()).first, sink));
  if (!is_frozen_) sink.complete(layout.final_group());
  for (int64_t i = config_.layers - 1; i >= 0; --i) {
    policy_.before_backward(layout.layer_group(i));
    if (recompute_ == Recompute::kFull) layer_forward(i, /*with_last_product=*/false);
    if (is_last(i))
      selected_backward(i, sink);
    else
      rows_backward(i, sink);
    attention_backward(i, sink);
    sink.complete(is_frozen_ ? i : layout.layer_group(i));
  }
  if (is_frozen_) return;
  operations_.embed_backward(gradients_.x, input_.host_tokens,
                             gradient_sum(layout, 0, 1, sink).view(policy_.embedding().sizes()));
  sink.complete(0);
}

int64_t PolicyPass::backward_stage(int64_t layer) const {
  return head_stage(config_.layers) + 2 + 2 * (config_.layers - 1 - layer);
}

// Of what comes behind attention, for all rows.
void PolicyPass::rows_backward(int64_t layer, GradientSink& sink) {
  mlp_backward(layer, gradients_, sink);
  out_backward(layer, gradients_, activations_.layer(layer).mixed, sink);
}

// Likewise for the selected rows of the last layer; the others have a gradient of zero.
void PolicyPass::selected_backward(int64_t layer, GradientSink& sink) {
  const int64_t selected = input_.selected.size(0);
  PassGradients g = gradients_;
  g.x = g.selected_x;
  g.mixed = g.selected_mixed;
  g.normed = g.normed.narrow(0, 0, selected);
  g.gated = g.gated.narrow(0, 0, selected);
  mlp_backward(layer, g, sink);
  out_backward(layer, g, activations_.selected().mixed, sink);
  operations_.scatter(g.x, input_.selected, gradients_.x);
  operations_.scatter(g.mixed, input_.selected, gradients_.mixed);
}

void PolicyPass::mlp_backward(int64_t layer, const PassGradients& g, GradientSink& sink) {
  const LayerParts& parts = parts_[static_cast<size_t>(layer)];
  const LayerActivations& a = activations_.layer(layer);
  const bool makes_again = recompute_ == Recompute::kSelective;
  const auto ranks = [&](const at::Tensor& all, const FusedProjection& part) {
    return low_rank(all, layer, part);
  };
  parts.down.input_gradient(operations_, g.x, g.gated, ranks(g.low_rank, parts.down));
  operations_.gate_backward(g.gated, a.gate_up, makes_again ? a.gated : at::Tensor());
  parts.down.weight_gradient(operations_, g.x, a.gated, ranks(a.low_rank, parts.down),
                             ranks(g.low_rank, parts.down), sink);
  const at::Tensor& grad = a.gate_up;  // since gate_backward
  if (makes_again) operations_.norm(post_norm(layer, 2 * layer + 1), a.second_normed);
  parts.gate_up.input_gradient(operations_, grad, g.normed, ranks(g.low_rank, parts.gate_up));
  parts.gate_up.weight_gradient(operations_, grad, a.second_normed, ranks(a.low_rank, parts.gate_up),
                                ranks(g.low_rank, parts.gate_up), sink);
  operations_.norm_backward(post_norm(layer, backward_stage(layer)), g.normed, g.x, g.x,
                            norm_sum(parts.first_entry + kPostNorm, sink));
}

void PolicyPass::out_backward(int64_t layer, const PassGradients& g, const at::Tensor& mixed,
                              GradientSink& sink) {
  const FusedProjection& out = parts_[static_cast<size_t>(layer)].out;
  const at::Tensor ranks = low_rank(g.low_rank, layer, out);
  out.input_gradient(operations_, g.x, g.mixed, ranks);
  out.weight_gradient(operations_, g.x, mixed, low_rank(activations_.layer(layer).low_rank, layer, out),
                      ranks, sink);
}

void PolicyPass::attention_backward(int64_t layer, GradientSink& sink) {
  const Transformer::Layer& l = policy_.layers()[static_cast<size_t>(layer)];
  const LayerParts& parts = parts_[static_cast<size_t>(layer)];
  const LayerActivations& a = activations_.layer(layer);
  const PassGradients& g = gradients_;
  const auto ranks = [&](const at::Tensor& all, const FusedProjection& part) {
    return low_rank(all, layer, part);
  };
  PassNorm norm = norm_of(a.x, l.input_norm, 2 * layer);
  if (recompute_ == Recompute::kSelective)
    operations_.rotate(heads_of(layer), a.rotated.unflatten(1, {-1, config_.head_dim}));
  // Where it is not kept, the second norm's lies there by now.
  if (recompute_ != Recompute::kNone) operations_.norm(norm, a.first_normed);
  const Heads heads = attended(layer), grads = heads_in(g.qkv);
  const auto as_heads = [&](const at::Tensor& x) {
    return x.unflatten(1, {config_.heads, config_.head_dim});
  };
  input_.attention->backward(as_heads(g.mixed), heads.q, heads.k, heads.v, as_heads(a.mixed),
                             states_[static_cast<size_t>(layer)], grads.q, grads.k, grads.v);
  operations_.rotate_backward(heads_of(layer), g.qkv, norm_sum(parts.first_entry + kQueryNorm, sink),
                              norm_sum(parts.first_entry + kKeyNorm, sink));
  // Nothing asks for the gradient of a frozen embedding.
  const bool is_unasked = is_frozen_ && layer == 0;
  parts.qkv.input_gradient(operations_, g.qkv, is_unasked ? at::Tensor() : g.normed,
                           ranks(g.low_rank, parts.qkv));
  parts.qkv.weight_gradient(operations_, g.qkv, a.first_normed, ranks(a.low_rank, parts.qkv),
                            ranks(g.low_rank, parts.qkv), sink);
  norm.stage = backward_stage(layer) + 1;
  if (!is_unasked)
    operations_.norm_backward(norm, g.normed, g.x, g.x, norm_sum(parts.first_entry + kInputNorm, sink));
}

std::string PolicyPass::stage_name(int64_t stage, int64_t layers) {
  if (stage == 2 * layers) return "the last layer's output";
  if (stage < 2 * layers)
    return concat("the input of layer ", stage / 2, stage % 2 == 0 ? "'s attention" : "'s MLP");
  if (stage == head_stage(layers)) return "the log-probabilities";
  const int64_t behind = stage - head_stage(layers) - 1;
  if (behind == 0) return "the gradient of the log-probabilities";
  const int64_t layer = layers - 1 - (behind - 1) / 2;
  return concat("the gradient of layer ", layer, (behind - 1) % 2 == 0 ? "'s MLP" : "'s attention");
}

}  // namespace bicrl
