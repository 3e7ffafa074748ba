// The activations of a written-out pass (policy_pass.h): which of them a layer keeps for the backward pass,
// by what is recomputed, and which lie in memory that all layers share; how large they are; and views of them
// for a pack's rows. Owns the memory. Not thread-safe.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "policy/pass/recompute.h"
#include "policy/policy_config.h"

namespace bicrl {

// [rows, ..] of one layer.
struct LayerActivations {
  at::Tensor x;       // [.., hidden] its input
  at::Tensor middle;  // [.., hidden] with attention's branch
  at::Tensor first_normed, second_normed;
  at::Tensor qkv;       // [.., (heads + 2 kv_heads) head_dim]
  at::Tensor rotated;   // [.., (heads + kv_heads) head_dim]
  at::Tensor mixed;     // [.., heads head_dim] attention's output
  at::Tensor gate_up;   // [.., 2 intermediate]
  at::Tensor gated;     // [.., intermediate]
  at::Tensor low_rank;  // [.., ranks of all adapters]; undefined without
};

// Behind its attention the last layer computes the rows alone whose hidden states are wanted: its middle,
// second_normed, gate_up and gated have those, and so has what comes of it. [selected, ..]
struct SelectedActivations {
  at::Tensor mixed;  // [.., heads head_dim] of attention's output
};

// Gradients of one layer at a time.
struct PassGradients {
  at::Tensor x, normed;  // [.., hidden]
  at::Tensor qkv, mixed, gated, low_rank;
  at::Tensor selected_x, selected_mixed;  // [selected, ..] of the last layer
};

class PassActivations {
 public:
  struct Shape {
    PolicyConfig config;
    int64_t rows = 0, selected = 0;
    int64_t low_rank_columns = 0;
    Recompute recompute = Recompute::kNone;
  };
  struct Bytes {
    int64_t kept = 0;      // from forward to backward
    int64_t forward = 0;   // beside it at any time,
    int64_t backward = 0;  // and while a backward pass runs
  };
  static Bytes bytes(const Shape& shape, int64_t element_bytes);

  // Memory for backward passes is taken when the first of them needs it, so is what is kept.
  PassActivations(Shape shape, at::TensorOptions options);

  // Views of so many rows for a forward pass that is followed by a backward pass or not.
  void view(int64_t rows, int64_t selected, bool is_followed_by_backward);
  const LayerActivations& layer(int64_t index) const { return views_.at(static_cast<size_t>(index)); }
  const at::Tensor& last_sum() const { return views_.back().x; }  // of the last layer
  const SelectedActivations& selected() const { return selected_view_; }
  PassGradients gradients(int64_t rows, int64_t selected);

 private:
  at::Tensor rows_of(int64_t width) const;
  at::Tensor selected_of(int64_t width) const;

  Shape shape_;
  at::TensorOptions options_;
  LayerActivations shared_;
  SelectedActivations selected_, selected_view_;
  std::vector<LayerActivations> kept_;  // the last one is what comes of the last layer
  PassGradients gradients_;
  std::vector<LayerActivations> views_;
};

}  // namespace bicrl
