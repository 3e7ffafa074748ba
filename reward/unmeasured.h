// What a verdict has a field for and no verifier reports yet. An option that needs it could do nothing, so a
// run refuses the option and says why; verdicts that another version stored may hold it. Pure functions.
#pragma once
#include <string>

#include "verdict/verdict.h"

namespace bicrl {

enum class Unmeasured {
  kTorchCompileTime  // torch_compile_ms above 0: the cost model has it, of verifiers that measure only some
};

// What is missing, as the end of a sentence: "is sure to report a time under torch.compile".
std::string to_string(Unmeasured input);
// Why a run refuses an option that needs it.
std::string refusal_reason(Unmeasured input);
bool is_reported(const Verdict& verdict, Unmeasured input);
// Whether verdicts with that clock have it.
bool is_stated_by(const std::string& clock, Unmeasured input);

// An option that is set to a value which needs such an input.
struct UnmeasuredOption {
  std::string place;  // "file:line: key.path"
  Unmeasured input{};
};

}  // namespace bicrl
