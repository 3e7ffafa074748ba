// Constants in PTX text: numbers, and expressions of numbers (section "Constant Expressions").
#pragma once
#include "sandbox/interpreter/ptx/syntax/lexer.h"

namespace bicrl::ptx {

// Whether the token can begin one.
bool begins_constant(const Lexer& lexer);

// Takes a number, or an expression of + - * / % << >> & | ^ ~ and parentheses, in 64-bit arithmetic. An
// expression of floating-point numbers may only change their sign.
Number parse_constant(Lexer& lexer);
int64_t parse_integer_constant(Lexer& lexer);

}  // namespace bicrl::ptx
