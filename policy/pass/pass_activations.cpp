#include "policy/pass/pass_activations.h"

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

// Whether the last layer has it of the selected rows alone.
bool is_of_selected(const Field& field) {
  return field.tensor == &LayerActivations::middle || field.tensor == &LayerActivations::second_normed ||
         field.tensor == &LayerActivations::gate_up || field.tensor == &LayerActivations::gated;
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
  const int64_t hidden = shape.config.hidden_size, queries = shape.config.heads * shape.config.head_dim;
  int64_t of_selected = hidden;  // of the last layer, and what comes of it
  for (const Field& field : kept_fields(shape))
    if (is_of_selected(field)) of_selected += field.width;
  return {unit * (shape.config.layers * width_of(kept_fields(shape)) + hidden - of_selected) +
              shape.selected * element_bytes * (of_selected + queries),
          unit * shared, unit * gradient_width(shape) + shape.selected * element_bytes * (hidden + queries)};
}

PassActivations::PassActivations(Shape shape, at::TensorOptions options)
    : shape_(std::move(shape)), options_(options) {}

at::Tensor PassActivations::rows_of(int64_t width) const {
  return width == 0 ? at::Tensor() : at::empty({shape_.rows, width}, options_);
}

at::Tensor PassActivations::selected_of(int64_t width) const {
  return at::empty({shape_.selected, width}, options_);
}

void PassActivations::view(int64_t rows, int64_t selected, bool is_followed_by_backward) {
  BICRL_CHECK(rows <= shape_.rows && selected <= shape_.selected, "a pass of ", rows, " rows, ", selected,
              " of them selected, there is room for ", shape_.rows, " and ", shape_.selected);
  const auto first = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, 0, rows) : x; };
  const auto layers = static_cast<size_t>(shape_.config.layers);
  const std::vector<Field> kept = is_followed_by_backward ? kept_fields(shape_) : std::vector<Field>();
  if (is_followed_by_backward && kept_.empty()) {
    kept_.resize(layers + 1);
    for (size_t i = 0; i < layers; ++i)
      for (const Field& field : kept)
        kept_[i].*field.tensor =
            i + 1 == layers && is_of_selected(field) ? selected_of(field.width) : rows_of(field.width);
    kept_[layers].x = selected_of(shape_.config.hidden_size);
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
  if (is_followed_by_backward) {
    for (size_t i = 0; i + 1 < layers; ++i)
      for (const Field& field : kept) views_[i].*field.tensor = first(kept_[i].*field.tensor);
    for (const Field& field : kept) {
      const at::Tensor& x = kept_[layers - 1].*field.tensor;
      views_[layers - 1].*field.tensor = is_of_selected(field) ? x : first(x);
    }
    views_[layers].x = kept_[layers].x;
  }
  const auto some = [&](at::Tensor& x) { x = x.narrow(0, 0, selected); };
  for (const Field& field : all_fields(shape_))
    if (is_of_selected(field)) some(views_[layers - 1].*field.tensor);
  some(views_[layers].x);
  if (!selected_.mixed.defined()) selected_.mixed = selected_of(shape_.config.heads * shape_.config.head_dim);
  selected_view_.mixed = selected_.mixed.narrow(0, 0, selected);
}

PassGradients PassActivations::gradients(int64_t rows, int64_t selected) {
  const PolicyConfig& c = shape_.config;
  if (!gradients_.x.defined()) {
    const int64_t queries = c.heads * c.head_dim, keys = c.kv_heads * c.head_dim;
    gradients_ = {.x = rows_of(c.hidden_size),
                  .normed = rows_of(c.hidden_size),
                  .qkv = rows_of(queries + 2 * keys),
                  .mixed = rows_of(queries),
                  .gated = rows_of(c.intermediate_size),
                  .low_rank = rows_of(shape_.low_rank_columns),
                  .selected_x = selected_of(c.hidden_size),
                  .selected_mixed = selected_of(queries)};
  }
  const auto first = [&](const at::Tensor& x) { return x.defined() ? x.narrow(0, 0, rows) : x; };
  const PassGradients& g = gradients_;
  return {.x = first(g.x),
          .normed = first(g.normed),
          .qkv = first(g.qkv),
          .mixed = first(g.mixed),
          .gated = first(g.gated),
          .low_rank = first(g.low_rank),
          .selected_x = g.selected_x.narrow(0, 0, selected),
          .selected_mixed = g.selected_mixed.narrow(0, 0, selected)};
}

}  // namespace bicrl
