// Functions and kernels: .func and .entry.
#pragma once
#include <string_view>

#include "sandbox/interpreter/ptx/syntax/parse_state.h"

namespace bicrl::ptx {

// With the token behind `.func` or `.entry`: takes a declaration or a definition and adds it to the module,
// or completes what was declared before.
void parse_function(ParseState& state, bool is_entry);

// Directives that stand in modules and in bodies. The token is behind the directive's word.
void parse_file(ParseState& state);
void skip_pragma(Lexer& lexer);
void skip_section(Lexer& lexer);

}  // namespace bicrl::ptx
