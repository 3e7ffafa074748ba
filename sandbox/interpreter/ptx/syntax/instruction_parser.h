// Instructions of a function's body, its labels and scopes.
#pragma once
#include <string_view>
#include <vector>

#include "sandbox/interpreter/ptx/syntax/operand_parser.h"
#include "sandbox/interpreter/ptx/syntax/parse_state.h"

namespace bicrl::ptx {

// Takes the instructions of one function and adds them to its body; knows its labels.
class InstructionParser {
 public:
  InstructionParser(ParseState& state, Function& function)
      : state_(state), lexer_(state.lexer), function_(function), operands_(state, function) {}

  void parse_registers() { operands_.parse_registers(); }  // with the token behind `.reg`
  // With the token behind the opcode's first word, or at the '@' of a guard.
  void parse_instruction(std::string_view opcode, uint32_t line);
  void parse_guarded();
  // With the token behind "name:", or behind the directive's word.
  void define_label(std::string_view name);
  void parse_branch_targets(std::string_view name);
  void parse_call_targets(std::string_view name);
  void parse_call_prototype(std::string_view name);

  void open_scope();
  void close_scope();  // labels that it defines become known to the branches in it

  void set_source(SourceLine source) { source_ = source; }

 private:
  // A use of a label: an operand of an instruction, or an entry of a list of branch targets.
  struct LabelUse {
    bool in_targets = false;
    uint32_t owner = 0, place = 0;
    std::string_view name;
    uint32_t line = 0;
  };

  void parse_operands(Instruction& instruction);
  void parse_branch(Instruction& instruction);
  void parse_indexed_branch(Instruction& instruction);
  void parse_call(Instruction& instruction);
  void parse_arguments(std::vector<Operand>& operands);
  void parse_prototype_name(Instruction& instruction);
  const Symbol& find_symbol(std::string_view name, Symbol::Kind kind);
  uint32_t begin_prototype(std::string_view name);

  ParseState& state_;
  Lexer& lexer_;
  Function& function_;
  OperandParser operands_;
  SourceLine source_;
  int32_t guard_ = -1;
  bool guard_negated_ = false;
  std::vector<std::vector<LabelUse>> waiting_;  // per open scope: labels that it has not defined
};

}  // namespace bicrl::ptx
