#include "tasks/synthetic/synthetic_module.h"

#include <algorithm>
#include <span>

#include "common/error.h"
#include "tasks/synthetic/synthetic_pieces.h"

namespace bicrl {
namespace {

constexpr int kCostedRowElements = 32;  // at least

using Chain = std::span<const ChainStep>;

std::string inputs_line(Shape shape, bool two_inputs) {
  const std::string row_vector = two_inputs ? concat(", torch.randn(", shape.cols, ")") : "";
  return concat("    return [torch.randn(", shape.rows, ", ", shape.cols, ")", row_vector, "]\n");
}

std::string module_text(Chain chain, Shape shape, std::optional<CostedInputs> costed) {
  const bool two_inputs = takes_row_vector(chain);
  std::string text = concat(pieces::kModule, two_inputs ? pieces::kForwardOfTwo : pieces::kForward);
  for (const ChainStep& step : chain)
    text += concat("        x = ", with_constants(step.op->torch, step.constants, ""), "\n");
  text += concat(pieces::kReturn, inputs_line(shape, two_inputs));
  if (costed) text += concat(pieces::kCostingInputs, inputs_line(costed->shape, two_inputs));
  if (costed && costed->repeats > 1)
    text += concat(pieces::kCostingRepeats, "    return ", costed->repeats, "\n");
  return text + std::string(pieces::kInitInputs);
}

}  // namespace

Shape costed_shape(const std::vector<ChainStep>& chain, Shape shape, int64_t bytes) {
  const auto has = [&](OperatorKind kind) {
    return std::ranges::any_of(chain, [kind](const ChainStep& step) { return step.op->kind == kind; });
  };
  const bool reduced = has(OperatorKind::kReduction);
  const auto units = [](int64_t amount, int64_t unit) { return (amount + unit - 1) / unit; };
  if (reduced || has(OperatorKind::kSoftmax))
    shape.cols *= static_cast<int>(units(kCostedRowElements, shape.cols));
  const int64_t row_bytes = 4 * (shape.cols + (reduced ? 1 : shape.cols));
  shape.rows = static_cast<int>(std::max<int64_t>(shape.rows, units(bytes, row_bytes)));
  return shape;
}

Task write_module(const std::vector<ChainStep>& chain, Shape shape, std::optional<CostedInputs> costed) {
  BICRL_CHECK(!chain.empty() && shape.rows > 0 && shape.cols > 0, chain.size(), " ", shape.rows, "x",
              shape.cols);
  const auto special = std::ranges::count_if(
      chain, [](const ChainStep& step) { return step.op->kind != OperatorKind::kPointwise; });
  BICRL_CHECK(special <= 1, "one operator at most may be other than pointwise");
  Task task;
  for (const ChainStep& step : chain) task.composition.emplace_back(step.op->name);
  task.pytorch_code = module_text(chain, shape, costed);
  return task;
}

bool takes_row_vector(std::span<const ChainStep> chain) {
  return std::ranges::any_of(chain,
                             [](const ChainStep& step) { return step.op->kind == OperatorKind::kRowVector; });
}

}  // namespace bicrl
