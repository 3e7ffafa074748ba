// The operators that synthesised tasks are composed of: each with its line of PyTorch, its CUDA text and what
// it computes, so that compositions can be rated without running either. Immutable table; safe from any
// thread.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

enum class OperatorKind {
  kPointwise,  // v -> f(v)
  kRowVector,  // combines with a second input y of shape [cols]
  kReduction,  // [rows, cols] -> [rows]
  kSoftmax,    // over the last dimension
  kStencil     // three neighbours in the last dimension
};

// A matrix of that arithmetic; a reduced one has one column.
struct Sample {
  size_t rows = 0;
  size_t cols = 0;
  std::vector<double> values;  // [rows, cols]

  double& at(size_t row, size_t col) { return values[row * cols + col]; }
  double at(size_t row, size_t col) const { return values[row * cols + col]; }
};

struct SyntheticOperator {
  std::string_view name;
  OperatorKind kind;
  // Expressions over x and v, with $0 and $1 for constants ("$0" in CUDA is a float literal). For structural
  // operators `cuda` is empty: their kernel is a text of its own.
  std::string_view torch;
  std::string_view cuda;
  // Every choice of constants, e.g. {{"0.5"}, {"2.0"}}; {{}} for an operator without constants.
  std::vector<std::vector<std::string_view>> constants;
  // Exactly one of the two is set.
  double (*pointwise)(double v, const double* constants);
  Sample (*whole)(const Sample& x, std::span<const double> row_vector);
};

const std::vector<SyntheticOperator>& synthetic_operators();

// nullptr for a name that the table lacks.
const SyntheticOperator* find_synthetic_operator(std::string_view name);
// Throws Error for such a name.
const SyntheticOperator& synthetic_operator(std::string_view name);

// Whether it needs more than the element that it computes, and its own column's in a row vector: a reduction,
// softmax or stencil.
bool is_structural(const SyntheticOperator& op);

// The text with $0, $1 replaced; `suffix` is appended to each constant ("f" for CUDA).
std::string with_constants(std::string_view text, std::span<const std::string_view> constants,
                           std::string_view suffix);

}  // namespace bicrl
