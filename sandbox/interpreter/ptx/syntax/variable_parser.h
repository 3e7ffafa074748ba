// Declarations of variables, parameters and results.
#pragma once
#include <optional>
#include <vector>

#include "sandbox/interpreter/ptx/syntax/parse_state.h"

namespace bicrl::ptx {

std::optional<Space> parse_space(std::string_view word);  // "global", "const", "shared", "local", "param"

enum class Linkage : uint8_t { kLocal, kVisible, kWeak, kExtern };

// With the token behind the space's word: takes declarators, initial values and the ';'. Returns the
// variables' indices in the module, also of those that were declared before.
std::vector<uint32_t> parse_variables(ParseState& state, Space space, Linkage linkage);

// Takes "( .param ... , ... )" and declares the names in the current scope.
std::vector<uint32_t> parse_parameters(ParseState& state);

}  // namespace bicrl::ptx
