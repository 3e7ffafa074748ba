#include "reward/optional_figure.h"

#include "common/error.h"

namespace bicrl {

std::string to_string(OptionalFigure figure) {
  switch (figure) {
    case OptionalFigure::kTorchCompileTime:
      return "with a clock that measures is sure to report a time under torch.compile";
  }
  return "";
}

std::string refusal_reason(OptionalFigure figure) {
  return concat("has no effect yet: no verifier ", to_string(figure));
}

bool is_reported(const Verdict& verdict, OptionalFigure figure) {
  switch (figure) {
    case OptionalFigure::kTorchCompileTime:
      return verdict.torch_compile_ms > 0;
  }
  return false;
}

bool is_stated_by(const std::string& clock, OptionalFigure figure) {
  return clock == kModelClock && figure == OptionalFigure::kTorchCompileTime;
}

}  // namespace bicrl
