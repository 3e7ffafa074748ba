#include "policy/transformer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <set>

#include "common/error.h"
#include "common/rng.h"
#include "policy/embedding.h"
#include "policy/head.h"
#include "policy/rms_norm.h"

namespace bicrl {
namespace {

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

class TensorMap : public TensorSource {
 public:
  explicit TensorMap(std::map<std::string, at::Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  std::vector<int64_t> shape(const std::string& name) const override {
    return tensors_.at(name).sizes().vec();
  }
  void read(const std::string& name, int64_t begin, const at::Tensor& into) const override {
    into.copy_(tensors_.at(name).detach().reshape({-1}).narrow(0, begin, into.numel()));
  }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

// `work` on each flat piece of a contiguous tensor, with the number of elements before it.
void by_pieces(const at::Tensor& tensor, const std::function<void(int64_t, const at::Tensor&)>& work) {
  const at::Tensor flat = tensor.view({-1});
  for (int64_t begin = 0; begin < flat.numel(); begin += kPieceElements)
    work(begin, flat.narrow(0, begin, std::min(kPieceElements, flat.numel() - begin)));
}

bool same_values(const TensorSource& source, const std::string& name, const at::Tensor& tensor) {
  bool same = at::IntArrayRef(source.shape(name)) == tensor.sizes();
  if (!same) return false;
  by_pieces(tensor, [&](int64_t begin, const at::Tensor& piece) {
    const at::Tensor other = at::empty_like(piece);
    source.read(name, begin, other);
    same = same && at::equal(other, piece);
  });
  return same;
}

}  // namespace

Transformer::Transformer(const PolicyConfig& config, at::Device device, at::ScalarType dtype)
    : Transformer(config, std::make_shared<ParameterStore>(config, device, dtype)) {}

Transformer::Transformer(const PolicyConfig& config, std::shared_ptr<ParameterStore> store)
    : config_(config),
      store_(std::move(store)),
      inverse_frequency_(inverse_frequencies(config, store_->device())) {
  bind();
}

Transformer Transformer::random(const PolicyConfig& config, uint64_t seed, at::Device device,
                                at::ScalarType dtype) {
  config.validate();
  Transformer transformer(config, device, dtype);
  for (size_t i = 0; i < transformer.parameters().size(); ++i) {
    const ParameterEntry& entry = transformer.store_->layout().entries()[i];
    const at::Tensor& value = transformer.parameters()[i].second;
    if (entry.is_norm)
      value.fill_(1);
    else
      value.copy_(draw_normal(entry.shape, config.initializer_range, mix_key(seed, entry.name)));
  }
  return transformer;
}

Transformer Transformer::from_source(const PolicyConfig& config, const TensorSource& source,
                                     at::Device device, at::ScalarType dtype) {
  config.validate();
  const at::NoGradGuard guard;
  Transformer transformer(config, device, dtype);
  const std::vector<std::string> names = source.names();
  std::set<std::string> left(names.begin(), names.end());
  for (const auto& [name, value] : transformer.parameters()) {
    if (left.erase(name) == 0) throw InputError(concat("tensor ", name, " is missing"));
    if (const std::vector<int64_t> shape = source.shape(name); value.sizes() != at::IntArrayRef(shape))
      throw InputError(concat("tensor ", name, " has shape ", at::IntArrayRef(shape),
                              ", the config asks for ", value.sizes()));
    by_pieces(value, [&](int64_t begin, const at::Tensor& piece) { source.read(name, begin, piece); });
  }
  // Some writers store the tied head a second time; a different one would be lost silently.
  const std::string head = "lm_head.weight";
  if (left.erase(head) > 0 && !same_values(source, head, transformer.parameters().front().second))
    throw InputError(
        "tensor lm_head.weight differs from model.embed_tokens.weight, but the config says "
        "tie_word_embeddings");
  if (!left.empty()) throw InputError(concat("tensor ", *left.begin(), " does not belong to this config"));
  return transformer;
}

Transformer Transformer::from_tensors(const PolicyConfig& config, std::map<std::string, at::Tensor> tensors,
                                      at::Device device, at::ScalarType dtype) {
  return from_source(config, TensorMap(std::move(tensors)), device, dtype);
}

Transformer Transformer::clone() const {
  const at::NoGradGuard guard;
  Transformer copy(config_, device(), dtype());
  for (size_t i = 0; i < parameters().size(); ++i) copy.parameters()[i].second.copy_(parameters()[i].second);
  if (adapters_) copy.copy_adapters(*this);
  return copy;
}

void Transformer::bind() {
  size_t next = 0;
  const auto take = [&] { return parameters().at(next++).second; };
  embedding_ = take();
  for (int64_t i = 0; i < config_.layers; ++i) {
    Layer& layer = layers_.emplace_back();
    for (at::Tensor* slot : {&layer.input_norm, &layer.q.weight, &layer.k.weight, &layer.v.weight,
                             &layer.o.weight, &layer.q_norm, &layer.k_norm, &layer.post_norm,
                             &layer.gate.weight, &layer.up.weight, &layer.down.weight})
      *slot = take();
  }
  final_norm_ = take();
  head_ = config_.tie_word_embeddings ? embedding_ : take();
  BICRL_CHECK(next == parameters().size());
}

Rotation Transformer::rotation(const at::Tensor& positions) const {
  const at::Tensor angles = positions.to(at::kFloat).unsqueeze(1) * inverse_frequency_;  // [T, head_dim / 2]
  const at::Tensor cos = angles.cos(), sin = angles.sin();
  return {at::cat({cos, cos}, 1).unsqueeze(1), at::cat({sin.neg(), sin}, 1).unsqueeze(1)};
}

at::Tensor Transformer::attention_branch(int64_t index, const at::Tensor& x, const Rotation& rotation,
                                         AttentionContext& attention) const {
  const Layer& layer = layers_[index];
  const at::Tensor normed = rms_norm(x, layer.input_norm, config_.rms_norm_eps);
  const auto project = [&](const Projection& projection, int64_t heads) {
    return projection(normed).view({x.size(0), heads, config_.head_dim});
  };
  const at::Tensor mixed = attention.attend_projected(index, {.q = project(layer.q, config_.heads),
                                                              .k = project(layer.k, config_.kv_heads),
                                                              .v = project(layer.v, config_.kv_heads),
                                                              .q_norm = layer.q_norm,
                                                              .k_norm = layer.k_norm,
                                                              .eps = config_.rms_norm_eps,
                                                              .rotation = rotation});
  return layer.o(mixed.reshape({x.size(0), config_.heads * config_.head_dim}));
}

at::Tensor Transformer::mlp_branch(int64_t index, const at::Tensor& x) const {
  const Layer& layer = layers_[index];
  const at::Tensor normed = rms_norm(x, layer.post_norm, config_.rms_norm_eps);
  return layer.down(at::silu(layer.gate(normed)) * layer.up(normed));
}

// What is computed again refers to the rotation's tensors and to the attention context.
at::Tensor Transformer::layer(int64_t index, const at::Tensor& x, const Rotation& rotation,
                              AttentionContext& attention) const {
  const auto attend = [=, this, &attention](const at::Tensor& in) {
    return in + attention_branch(index, in, rotation, attention);
  };
  const auto transform = [=, this](const at::Tensor& in) { return mlp_branch(index, in); };
  switch (recompute_) {
    case Recompute::kFull:
      return recomputed(
          [=](const at::Tensor& in) {
            const at::Tensor middle = attend(in);
            return middle + transform(middle);
          },
          x);
    case Recompute::kSelective: {
      const at::Tensor middle = attend(x);
      return middle + recomputed(transform, middle);
    }
    case Recompute::kNone:
      break;
  }
  const at::Tensor middle = attend(x);
  return middle + transform(middle);
}

at::Tensor Transformer::hidden(const at::Tensor& tokens, const at::Tensor& positions,
                               AttentionContext& attention, const LayerObserver& observer) const {
  BICRL_CHECK(tokens.dim() == 1 && tokens.sizes() == positions.sizes(), "tokens ", tokens.sizes(),
              ", positions ", positions.sizes());
  const Rotation rotation = this->rotation(positions);
  const ParameterLayout& layout = store_->layout();
  at::Tensor x;  // [T, hidden]
  with_group(0, [&] { x = embed(embedding_, tokens); });
  // A frozen embedding asks for no gradient, and without one to come nothing of the first layer would be
  // computed again.
  if (recompute_ != Recompute::kNone && trains_adapters()) x.requires_grad_(true);
  for (int64_t i = 0; i < config_.layers; ++i) {
    if (observer) observer(i, x);
    with_group(layout.layer_group(i), [&] { x = layer(i, x, rotation, attention); });
    if (residency_ && x.requires_grad())
      x.register_hook([residency = residency_, group = layout.layer_group(i)](const at::Tensor&) {
        residency->before_backward(group);
      });
  }
  if (observer) observer(config_.layers, x);
  with_group(layout.final_group(), [&] { x = rms_norm(x, final_norm_, config_.rms_norm_eps); });
  return x;
}

at::Tensor Transformer::logits(const at::Tensor& hidden_rows) const {
  return head_logits(hidden_rows, head_);
}

at::Device Transformer::device() const { return store_->device(); }
at::ScalarType Transformer::dtype() const { return store_->dtype(); }

}  // namespace bicrl
