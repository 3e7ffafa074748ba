// Figures that a verdict has a field for and only some verifiers report. An option that needs one of which
// its verifiers are not sure would have no effect, so a run refuses the option and says why; stored verdicts
// may have it. Pure functions.
#pragma once
#include <string>

#include "verdict/verdict.h"

namespace bicrl {

enum class OptionalFigure {
  kTorchCompileTime  // torch_compile_ms above 0: by the cost model, or measured with gpu.torch_compile
};

// What is missing, as the end of a sentence: "is sure to report a time under torch.compile".
std::string to_string(OptionalFigure figure);
// Why a run refuses an option that needs it.
std::string refusal_reason(OptionalFigure figure);
bool is_reported(const Verdict& verdict, OptionalFigure figure);
// Whether every verdict with that clock has it.
bool is_stated_by(const std::string& clock, OptionalFigure figure);

// An option that is set to a value which needs such a figure.
struct FigureNeed {
  std::string place;  // "file:line: key.path"
  OptionalFigure figure{};
};

}  // namespace bicrl
