// Activations that are computed again in the backward pass instead of being kept: memory against a second
// forward. Values and gradients are the same to the bit, as the same operations run on the same numbers.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>

namespace bicrl {

// Of each layer: keeps everything; keeps attention's activations but not the MLP's, which are most of them;
// keeps the layer's input alone.
enum class Recompute { kNone, kSelective, kFull };

// The names that configurations give them.
constexpr std::string_view recompute_name(Recompute recompute) {
  return recompute == Recompute::kNone ? "none" : recompute == Recompute::kSelective ? "selective" : "full";
}
constexpr Recompute recompute_named(std::string_view name) {  // one of those
  return name == "none" ? Recompute::kNone : name == "selective" ? Recompute::kSelective : Recompute::kFull;
}

// part(x), of which the graph keeps only x. `part` must be a pure function of x and of leaves, and what it
// refers to must live until the backward pass has been there. Without a gradient to come it is just part(x).
at::Tensor recomputed(const std::function<at::Tensor(const at::Tensor&)>& part, const at::Tensor& x);

}  // namespace bicrl
