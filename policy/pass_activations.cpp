#include "policy/pass_activations.h"

#include <ATen/ATen.h>

#include "common/error.h"

namespace bicrl {
namespace {

struct Field {
  at::Tensor LayerActivations::*tensor;
  int64_t width;
};

// Of a layer's activations those that its backward pass finds as the forward pass left them.
std::vector<Field> kept_fields(const PassActivations::Shape& s) {
  const PolicyConfig& c = s.config;
  const int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  std::vector<Field> fields = {{&LayerActivations::x, c.hidden_size}};
  if (s.recompute == Recompute::kFull) return fields;
  fields.insert(fields.end(), {{&LayerActivations::middle, c.hidden_size},
                               {&LayerActivations::qkv, queries + 2 * keys},
                               {&LayerActivations::mixed, queries},
                               {&LayerActivations::gate_up, 2 * c.intermediate_size},
                               {&LayerActivations::low_rank, s.low_rank_columns}});
  if (s.recompute == Recompute::kSelective) return fields;
  fields.insert(fields.end(), {{&LayerActivations::first_normed, c.hidden_size},
                               {&LayerActivations::second_normed, c.hidden_size},
                               {&LayerActivations::rotated, queries + keys},
                               {&LayerActivations::gated, c.intermediate_size}});
  return fields;
}

std::vector<Field> all_fields(PassActivations::Shape s) {
  s.recompute = Recompute::kNone;
  return kept_fields(s);
}

// Both norms' results are never wanted at the same time.
bool is_second_norm(const Field& field) { return field.tensor == &LayerActivations::second_normed; }

int64_t width_of(const std::vector<Field>& fields) {
  int64_t width = 0;
  for (const Field& field : fields) width += field.width;
  return width;
}

int64_t gradient_width(const PassActivations::Shape& s) {
  const PolicyConfig& c = s.config;
  const int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
  return 2 * c.hidden_size + 2 * queries + 2 * keys + c.intermediate_size + s.low_rank_columns;
}

}  // namespace

PassActivations::Bytes PassActivations::bytes(const Shape& shape, int64_t element_bytes) {
  const int64_t unit = shape.rows * element_bytes;
  int64_t shared = 0;
  for (const Field& field : all_fields(shape)) {
    bool is_kept = is_second_norm(field);
    for (const Field& kept : kept_fields(shape)) is_kept |= kept.tensor == field.tensor;
    if (!is_kept) shared += field.width;
  }
  return {unit * (shape.config.layers * width_of(kept_fields(shape)) + shape.config.hidden_size),
          unit * shared, unit * gradient_width(shape)};
}

PassActivations::PassActivations(Shape shape, at::TensorOptions options)
    : shape_(std::move(shape)), options_(options) {}

at::Tensor PassActivations::rows_of(int64_t width) const {
  return width == 0 ? at::Tensor() : at::empty({shape_.rows, width}, options_);
}

void PassActivations::view(int64_t rows, bool is_followed_by_backward) {
  BICRL_CHECK(rows <= shape_.rows, "a pass of ", rows, " rows, there is room for ", shape_.rows);
  const auto first = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, 0, rows) : x; };
  const auto layers = static_cast<size_t>(shape_.config.layers);
  const std::vector<Field> kept = is_followed_by_backward ? kept_fields(shape_) : std::vector<Field>();
  if (is_followed_by_backward && kept_.empty()) {
    kept_.resize(layers + 1);
    for (size_t i = 0; i < layers; ++i)
      for (const Field& field : kept) kept_[i].*field.tensor = rows_of(field.width);
    kept_[layers].x = rows_of(shape_.config.hidden_size);
  }
  LayerActivations shared;
  for (const Field& field : all_fields(shape_)) {
    bool is_kept = false;
    for (const Field& other : kept) is_kept |= other.tensor == field.tensor;
    if (is_kept) continue;
    at::Tensor& memory = is_second_norm(field) ? shared_.first_normed : shared_.*field.tensor;
    if (!memory.defined()) memory = rows_of(field.width);
    shared.*field.tensor = first(memory);
  }
  views_.assign(layers + 1, shared);
  if (!is_followed_by_backward) return;
  for (size_t i = 0; i < layers; ++i)
    for (const Field& field : kept) views_[i].*field.tensor = first(kept_[i].*field.tensor);
  views_[layers].x = first(kept_[layers].x);
}

PassGradients PassActivations::gradients(int64_t rows) {
  const PolicyConfig& c = shape_.config;
  if (!gradients_.x.defined()) {
    const int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
    gradients_ = {rows_of(c.hidden_size), rows_of(c.hidden_size),       rows_of(queries + 2 * keys),
                  rows_of(queries),       rows_of(c.intermediate_size), rows_of(shape_.low_rank_columns)};
  }
  const auto first = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, 0, rows) : x; };
  const PassGradients& g = gradients_;
  return {first(g.x), first(g.normed), first(g.qkv), first(g.mixed), first(g.gated), first(g.low_rank)};
}

}  // namespace bicrl
