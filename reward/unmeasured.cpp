#include "reward/unmeasured.h"

#include "common/error.h"

namespace bicrl {

std::string to_string(Unmeasured input) {
  switch (input) {
    case Unmeasured::kTorchCompileTime:
      return "with a clock that measures is sure to report a time under torch.compile";
  }
  return "";
}

std::string refusal_reason(Unmeasured input) {
  return concat("has no effect yet: no verifier ", to_string(input));
}

bool is_reported(const Verdict& verdict, Unmeasured input) {
  switch (input) {
    case Unmeasured::kTorchCompileTime:
      return verdict.torch_compile_ms > 0;
  }
  return false;
}

bool is_stated_by(const std::string& clock, Unmeasured input) {
  return clock == kModelClock && input == Unmeasured::kTorchCompileTime;
}

}  // namespace bicrl
