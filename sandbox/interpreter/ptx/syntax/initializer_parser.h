// Initial values of variables (section "Initializers").
#pragma once
#include <vector>

#include "sandbox/interpreter/ptx/syntax/parse_state.h"

namespace bicrl::ptx {

// With the token behind the '=': takes the value and sets the variable's `initial` and `relocations`. If the
// first dimension is 0, it is open and gets the number of the values.
void parse_initializer(ParseState& state, Variable& variable, std::vector<uint64_t>& dimensions);

}  // namespace bicrl::ptx
