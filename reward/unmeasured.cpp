#include "reward/unmeasured.h"

#include "common/error.h"

namespace bicrl {

std::string to_string(Unmeasured input) {
  switch (input) {
    case Unmeasured::kTorchCompileTime:
      return "with a clock that measures is sure to report a time under torch.compile";
    case Unmeasured::kMixedProgram:
      return "reports that a framework operator had a part in an answer";
    case Unmeasured::kPartialCoverage:
      return "reports which part of the work a program's own kernels did";
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
    case Unmeasured::kMixedProgram:
      return !verdict.legality.empty() && verdict.legality != "native";
    case Unmeasured::kPartialCoverage:
      return verdict.coverage > 0 && verdict.coverage < 1;
  }
  return false;
}

bool is_stated_by(const std::string& clock, Unmeasured input) {
  return clock == kModelClock && input == Unmeasured::kTorchCompileTime;
}

}  // namespace bicrl
