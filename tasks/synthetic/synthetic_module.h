// The PyTorch modules of synthesised tasks: one line for each operator of a chain, and everything else from a
// small set of fixed pieces, so that a small policy can learn the form. Pure functions.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/synthetic/synthetic_operators.h"
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

// What programs are costed on (docs/cost_model.md): inputs of this shape, so many times.
struct CostedInputs {
  Shape shape;
  int repeats = 1;
};

// A task with its module, without programs. At most one step of the chain is not pointwise. With `costed` the
// module has get_costing_inputs(), and get_costing_repeats() if they are taken more than once.
Task write_module(const std::vector<ChainStep>& chain, Shape shape, std::optional<CostedInputs> costed = {});

// Like `shape`, with so many rows that the chain's input and output take so many bytes together. Where whole
// rows are reduced they are longer, too: of seven elements a block of threads would be idle for most of its
// time.
Shape costed_shape(const std::vector<ChainStep>& chain, Shape shape, int64_t bytes);

// Whether an operator of the chain takes a second input, a row of as many values as there are columns.
bool takes_row_vector(std::span<const ChainStep> chain);

// The pieces that modules are put together from, besides pieces::kForward and pieces::kForwardOfTwo, the
// operators' lines and the shapes. The tokenizer of the quickstart makes one token of each.
namespace pieces {
constexpr std::string_view kModule =
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\nclass Model(nn.Module):\n";
constexpr std::string_view kReturn = "        return x\n\n\ndef get_inputs():\n";
constexpr std::string_view kCostingInputs = "\n\ndef get_costing_inputs():\n";
constexpr std::string_view kCostingRepeats = "\n\ndef get_costing_repeats():\n";
constexpr std::string_view kInitInputs = "\n\ndef get_init_inputs():\n    return []\n";
}  // namespace pieces

}  // namespace bicrl
