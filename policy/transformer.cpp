#include "policy/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "common/error.h"
#include "common/rng.h"
#include "policy/embedding.h"
#include "policy/head.h"
#include "policy/rms_norm.h"

namespace bicrl {
namespace {

struct ParameterSpec {
  std::string name;
  std::vector<int64_t> shape;
  bool is_norm = false;
};

// Every parameter in the order that Transformer::bind() takes them.
std::vector<ParameterSpec> parameter_specs(const PolicyConfig& c) {
  const int64_t q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  std::vector<ParameterSpec> specs;
  specs.push_back({"model.embed_tokens.weight", {c.vocab_size, c.hidden_size}});
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    specs.push_back({layer + "input_layernorm.weight", {c.hidden_size}, true});
    specs.push_back({layer + "self_attn.q_proj.weight", {q_width, c.hidden_size}});
    specs.push_back({layer + "self_attn.k_proj.weight", {kv_width, c.hidden_size}});
    specs.push_back({layer + "self_attn.v_proj.weight", {kv_width, c.hidden_size}});
    specs.push_back({layer + "self_attn.o_proj.weight", {c.hidden_size, q_width}});
    specs.push_back({layer + "self_attn.q_norm.weight", {c.head_dim}, true});
    specs.push_back({layer + "self_attn.k_norm.weight", {c.head_dim}, true});
    specs.push_back({layer + "post_attention_layernorm.weight", {c.hidden_size}, true});
    specs.push_back({layer + "mlp.gate_proj.weight", {c.intermediate_size, c.hidden_size}});
    specs.push_back({layer + "mlp.up_proj.weight", {c.intermediate_size, c.hidden_size}});
    specs.push_back({layer + "mlp.down_proj.weight", {c.hidden_size, c.intermediate_size}});
  }
  specs.push_back({"model.norm.weight", {c.hidden_size}, true});
  if (!c.tie_word_embeddings) specs.push_back({"lm_head.weight", {c.vocab_size, c.hidden_size}});
  return specs;
}

// Each value is a pure function of (seed, name, index), so neither threads nor devices change it.
at::Tensor draw_normal(const std::vector<int64_t>& shape, double deviation, uint64_t key) {
  at::Tensor values = at::empty(shape, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  at::parallel_for(0, values.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
    fill_normal(key, static_cast<uint64_t>(begin), deviation, out + begin, end - begin);
  });
  return values;
}

at::Tensor inverse_frequencies(const PolicyConfig& config, at::Device device) {
  const at::Tensor exponent =
      at::arange(0, config.head_dim, 2, at::kFloat) / static_cast<double>(config.head_dim);
  return at::reciprocal(at::pow(at::Scalar(config.rope_theta), exponent)).to(device);
}

}  // namespace

// Cosines and signed sines of one forward, so that rotate-half is x * cos + roll(x) * sin.
struct Transformer::Rotation {
  at::Tensor cos, sin;  // [T, 1, head_dim] fp32

  // x: [T, heads, head_dim]; computed in fp32, returned in x's type.
  at::Tensor apply(const at::Tensor& x) const {
    const at::Tensor wide = x.to(at::kFloat);
    return at::addcmul(wide * cos, at::roll(wide, wide.size(-1) / 2, -1), sin).to(x.scalar_type());
  }
};

Transformer Transformer::random(const PolicyConfig& config, uint64_t seed, at::Device device,
                                at::ScalarType dtype) {
  config.validate();
  std::map<std::string, at::Tensor> tensors;
  for (const auto& spec : parameter_specs(config)) {
    const at::Tensor values =
        spec.is_norm ? at::ones(spec.shape, at::kFloat)
                     : draw_normal(spec.shape, config.initializer_range, mix_key(seed, spec.name));
    tensors[spec.name] = values.to(device, dtype);
  }
  return from_tensors(config, std::move(tensors), device, dtype);
}

Transformer Transformer::from_tensors(const PolicyConfig& config, std::map<std::string, at::Tensor> tensors,
                                      at::Device device, at::ScalarType dtype) {
  config.validate();
  Transformer transformer(config);
  for (const auto& spec : parameter_specs(config)) {
    const auto found = tensors.find(spec.name);
    if (found == tensors.end()) throw InputError(concat("tensor ", spec.name, " is missing"));
    if (found->second.sizes() != at::IntArrayRef(spec.shape))
      throw InputError(concat("tensor ", spec.name, " has shape ", found->second.sizes(),
                              ", the config asks for ", at::IntArrayRef(spec.shape)));
    transformer.parameters_.emplace_back(spec.name, found->second.detach().to(device, dtype).contiguous());
    tensors.erase(found);
  }
  // Some writers store the tied head a second time; a different one would be lost silently.
  if (const auto head = tensors.find("lm_head.weight"); head != tensors.end()) {
    const at::Tensor& embedding = transformer.parameters_.front().second;
    if (head->second.sizes() != embedding.sizes() || !at::equal(head->second.to(device, dtype), embedding))
      throw InputError(
          "tensor lm_head.weight differs from model.embed_tokens.weight, but the config says "
          "tie_word_embeddings");
    tensors.erase(head);
  }
  if (!tensors.empty())
    throw InputError(concat("tensor ", tensors.begin()->first, " does not belong to this config"));
  transformer.inverse_frequency_ = inverse_frequencies(config, device);
  transformer.bind();
  return transformer;
}

Transformer Transformer::clone() const {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, parameter] : parameters_) tensors[name] = parameter.detach().clone();
  return from_tensors(config_, std::move(tensors), device(), dtype());
}

void Transformer::bind() {
  size_t next = 0;
  const auto take = [&] { return parameters_.at(next++).second; };
  embedding_ = take();
  layers_.clear();
  for (int64_t i = 0; i < config_.layers; ++i) {
    Layer& layer = layers_.emplace_back();
    for (at::Tensor* slot : {&layer.input_norm, &layer.q, &layer.k, &layer.v, &layer.o, &layer.q_norm,
                             &layer.k_norm, &layer.post_norm, &layer.gate, &layer.up, &layer.down})
      *slot = take();
  }
  final_norm_ = take();
  head_ = config_.tie_word_embeddings ? embedding_ : take();
  BICRL_CHECK(next == parameters_.size());
}

Transformer::Rotation Transformer::rotation(const at::Tensor& positions) const {
  const at::Tensor angles = positions.to(at::kFloat).unsqueeze(1) * inverse_frequency_;  // [T, head_dim / 2]
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  return {at::cat({cos, cos}, 1).unsqueeze(1), at::cat({sin.neg(), sin}, 1).unsqueeze(1)};
}

at::Tensor Transformer::attention_branch(int64_t index, const at::Tensor& x, const Rotation& rotation,
                                         AttentionContext& attention) const {
  const Layer& layer = layers_[index];
  const at::Tensor normed = rms_norm(x, layer.input_norm, config_.rms_norm_eps);
  const auto project = [&](const at::Tensor& weight, int64_t heads) {
    return at::linear(normed, weight).view({x.size(0), heads, config_.head_dim});
  };
  const at::Tensor q = rms_norm(project(layer.q, config_.heads), layer.q_norm, config_.rms_norm_eps);
  const at::Tensor k = rms_norm(project(layer.k, config_.kv_heads), layer.k_norm, config_.rms_norm_eps);
  const at::Tensor mixed =
      attention.attend(index, rotation.apply(q), rotation.apply(k), project(layer.v, config_.kv_heads));
  return at::linear(mixed.reshape({x.size(0), config_.heads * config_.head_dim}), layer.o);
}

at::Tensor Transformer::mlp_branch(int64_t index, const at::Tensor& x) const {
  const Layer& layer = layers_[index];
  const at::Tensor normed = rms_norm(x, layer.post_norm, config_.rms_norm_eps);
  return at::linear(at::silu(at::linear(normed, layer.gate)) * at::linear(normed, layer.up), layer.down);
}

at::Tensor Transformer::hidden(const at::Tensor& tokens, const at::Tensor& positions,
                               AttentionContext& attention) const {
  BICRL_CHECK(tokens.dim() == 1 && tokens.sizes() == positions.sizes(), "tokens ", tokens.sizes(),
              ", positions ", positions.sizes());
  const Rotation rotation = this->rotation(positions);
  at::Tensor x = embed(embedding_, tokens);  // [T, hidden]
  for (int64_t i = 0; i < config_.layers; ++i) {
    x = x + attention_branch(i, x, rotation, attention);
    x = x + mlp_branch(i, x);
  }
  return rms_norm(x, final_norm_, config_.rms_norm_eps);
}

at::Tensor Transformer::logits(const at::Tensor& hidden_rows) const {
  return head_logits(hidden_rows, head_);
}

at::Device Transformer::device() const { return embedding_.device(); }
at::ScalarType Transformer::dtype() const { return embedding_.scalar_type(); }

}  // namespace bicrl
