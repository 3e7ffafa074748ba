// Registers of a function, and operands of its instructions.
#pragma once
#include <string_view>
#include <vector>

#include "sandbox/interpreter/ptx/syntax/parse_state.h"

namespace bicrl::ptx {

Operand make_operand(Operand::Kind kind, uint32_t index = 0);

// Declares a name, or a range of registers, that the innermost scope does not have yet.
void declare_alone(ParseState& state, std::string_view name, Symbol symbol);

// Takes operands of one function's instructions; adds registers to the function when they are first named.
class OperandParser {
 public:
  OperandParser(ParseState& state, Function& function)
      : state_(state), lexer_(state.lexer), function_(function) {}

  void parse_registers();                                     // with the token behind `.reg`
  Operand parse();                                            // any operand but the name of a label
  Operand parse_named();                                      // a register, a variable, a function, ...
  void add(std::vector<Operand>& operands, Operand operand);  // within the limits

 private:
  // Which of a declaration's registers the body has named so far: their indices in the function, plus one.
  using Declared = std::vector<uint32_t>;

  Operand parse_simple();  // what can stand in a vector or a pair
  Operand parse_address();
  Operand parse_vector();
  Operand parse_negated();
  Operand parse_special(std::string_view name);
  Operand constant_operand();
  bool find_register(std::string_view name, Operand& operand);
  uint32_t register_index(const Symbol& symbol, uint32_t number, std::string_view name);

  ParseState& state_;
  Lexer& lexer_;
  Function& function_;
  std::vector<Declared> declared_;
};

}  // namespace bicrl::ptx
