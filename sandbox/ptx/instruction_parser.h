// Instructions of a function's body and their operands.
#pragma once
#include <string_view>
#include <vector>

#include "sandbox/ptx/parse_state.h"

namespace bicrl::ptx {

// Takes the instructions of one function and adds them to its body; knows its registers and labels.
class InstructionParser {
 public:
  InstructionParser(ParseState& state, Function& function)
      : state_(state), lexer_(state.lexer), function_(function) {}

  // With the token behind `.reg`.
  void parse_registers();
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
  // Which of a declaration's registers the body has named so far: their indices in the function, plus one.
  using Declared = std::vector<uint32_t>;

  Operand parse_operand();
  Operand parse_simple_operand();
  Operand parse_named_operand();
  Operand parse_address();
  Operand parse_vector();
  Operand parse_negated();
  Operand parse_special(std::string_view name);
  Operand constant_operand();
  void parse_operands(Instruction& instruction);
  void parse_branch(Instruction& instruction);
  void parse_indexed_branch(Instruction& instruction);
  void parse_call(Instruction& instruction);
  void parse_arguments(std::vector<Operand>& operands);
  void parse_callee_list(Instruction& instruction);
  void add_operand(std::vector<Operand>& operands, Operand operand);
  bool find_register(std::string_view name, Operand& operand);
  const Symbol& find_symbol(std::string_view name, Symbol::Kind kind);
  uint32_t register_index(const Symbol& symbol, uint32_t number, std::string_view name);
  void declare_alone(std::string_view name, Symbol symbol);
  uint32_t begin_prototype(std::string_view name);

  ParseState& state_;
  Lexer& lexer_;
  Function& function_;
  SourceLine source_;
  int32_t guard_ = -1;
  bool guard_negated_ = false;
  std::vector<Declared> declared_;
  std::vector<std::vector<LabelUse>> waiting_;  // per open scope: labels that it has not defined
};

}  // namespace bicrl::ptx
