// Text of synthesised tasks: the PyTorch module and the CUDA program of a chain of operators. Canonical by
// design: one line per operator on both sides, fixed names, and everything else from a small set of fixed
// pieces, so that a small policy can learn the form. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/synthetic_operators.h"
#include "tasks/task.h"

namespace bicrl {

struct ChainStep {
  const SyntheticOperator* op = nullptr;
  std::vector<std::string_view> constants;
};

struct Shape {
  int rows = 0;
  int cols = 0;
  bool operator==(const Shape&) const = default;
};

// At most one step of the chain is not pointwise. Fills every field of the task but id and level. With
// `costed` the module has get_costing_inputs(), which gives inputs of that shape.
Task write_task(const std::vector<ChainStep>& chain, Shape shape, std::optional<Shape> costed = {});
// Like `shape`, with so many rows that the chain's input and output take so many bytes together. Where whole
// rows are reduced they are longer, too: of seven elements a block of threads would be idle for most of its
// time.
Shape costed_shape(const std::vector<ChainStep>& chain, Shape shape, int64_t bytes);

// The pieces that modules and programs are put together from, besides the operators' lines, the shapes and
// get_costing_inputs().
// The tokenizer of the quickstart makes one token of each.
std::vector<std::string> program_pieces();

}  // namespace bicrl
