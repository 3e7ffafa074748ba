#include "sandbox/interpreter/ptx/syntax/instruction_parser.h"

#include "sandbox/interpreter/ptx/syntax/variable_parser.h"

namespace bicrl::ptx {

const Symbol& InstructionParser::find_symbol(std::string_view name, Symbol::Kind kind) {
  const Symbol* symbol = state_.find(name);
  if (!symbol || symbol->kind != kind) lexer_.fail("unknown name " + quoted(name));
  return *symbol;
}

void InstructionParser::parse_operands(Instruction& instruction) {
  if (lexer_.at(';')) return;
  instruction.operands.reserve(4);
  do operands_.add(instruction.operands, operands_.parse());
  while (lexer_.take(','));
}

void InstructionParser::parse_branch(Instruction& instruction) {
  const uint32_t line = lexer_.line();
  const std::string_view name = lexer_.take_word();
  operands_.add(instruction.operands, make_operand(Operand::Kind::kLabel));
  waiting_.back().push_back({false, static_cast<uint32_t>(function_.body.size()), 0, name, line});
}

void InstructionParser::parse_indexed_branch(Instruction& instruction) {
  parse_operands(instruction);
  if (instruction.operands.size() != 2 || instruction.operands[1].kind != Operand::Kind::kTargets)
    lexer_.fail("brx.idx without a list of branch targets");
  const auto& targets = function_.branch_targets[instruction.operands[1].index];
  state_.spend(state_.branch_edges, targets.size(), kMaxBranchEdges, "branch targets");
}

// (a, b): of a call.
void InstructionParser::parse_arguments(std::vector<Operand>& operands) {
  lexer_.expect('(');
  if (lexer_.take(')')) return;
  do operands_.add(operands, operands_.parse());
  while (lexer_.take(','));
  lexer_.expect(')');
}

void InstructionParser::parse_prototype_name(Instruction& instruction) {
  const std::string_view name = lexer_.take_word();
  instruction.prototype = static_cast<int32_t>(find_symbol(name, Symbol::Kind::kPrototype).index);
}

// call (returns), callee, (arguments), prototype
void InstructionParser::parse_call(Instruction& instruction) {
  if (lexer_.at('(')) {
    parse_arguments(instruction.operands);
    instruction.returns = static_cast<uint32_t>(instruction.operands.size());
    lexer_.expect(',');
  }
  Operand callee = operands_.parse_named();
  const bool indirect = callee.kind == Operand::Kind::kRegister;
  if (!indirect && callee.kind != Operand::Kind::kFunction) lexer_.fail("a call of what is no function");
  operands_.add(instruction.operands, std::move(callee));
  if (lexer_.take(',')) {
    if (lexer_.at('(')) {
      parse_arguments(instruction.operands);
      if (lexer_.take(',')) parse_prototype_name(instruction);
    } else {
      parse_prototype_name(instruction);
    }
  }
  if (indirect && instruction.prototype < 0) lexer_.fail("a call through a register without a prototype");
}

void InstructionParser::parse_instruction(std::string_view opcode, uint32_t line) {
  state_.spend(state_.instructions, 1, kMaxInstructions, "instructions");
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.guard = guard_;
  instruction.guard_negated = guard_negated_;
  instruction.text_line = line;
  instruction.source = source_;
  while (lexer_.at('.')) {
    if (instruction.modifiers.size() == kMaxModifiers) lexer_.fail("an instruction has too many modifiers");
    if (instruction.modifiers.empty()) instruction.modifiers.reserve(4);
    instruction.modifiers.emplace_back(lexer_.take_dotted_word());
  }
  if (opcode == "call")
    parse_call(instruction);
  else if (opcode == "bra")
    parse_branch(instruction);
  else if (opcode == "brx")
    parse_indexed_branch(instruction);
  else
    parse_operands(instruction);
  lexer_.expect(';');
  function_.body.push_back(std::move(instruction));
  guard_ = -1;
  guard_negated_ = false;
}

void InstructionParser::parse_guarded() {
  lexer_.expect('@');
  guard_negated_ = lexer_.take('!');
  const Operand guard = operands_.parse_named();
  if (guard.kind != Operand::Kind::kRegister || guard.type != Type::kPred)
    lexer_.fail("a guard that is no predicate");
  guard_ = static_cast<int32_t>(guard.index);
  const uint32_t line = lexer_.line();
  const std::string_view opcode = lexer_.take_word();
  parse_instruction(opcode, line);
}

void InstructionParser::define_label(std::string_view name) {
  declare_alone(state_, name,
                {.kind = Symbol::Kind::kLabel, .index = static_cast<uint32_t>(function_.labels.size())});
  function_.labels.push_back(static_cast<uint32_t>(function_.body.size()));
  function_.label_names.emplace_back(name);
}

void InstructionParser::parse_branch_targets(std::string_view name) {
  const uint32_t owner = static_cast<uint32_t>(function_.branch_targets.size());
  declare_alone(state_, name, {.kind = Symbol::Kind::kBranchTargets, .index = owner});
  function_.branch_targets.emplace_back();
  do {
    state_.spend(state_.branch_edges, 1, kMaxBranchEdges, "branch targets");
    const uint32_t place = static_cast<uint32_t>(function_.branch_targets[owner].size());
    const uint32_t line = lexer_.line();
    waiting_.back().push_back({true, owner, place, lexer_.take_word(), line});
    function_.branch_targets[owner].push_back(0);
  } while (lexer_.take(','));
  lexer_.expect(';');
}

uint32_t InstructionParser::begin_prototype(std::string_view name) {
  const uint32_t index = static_cast<uint32_t>(function_.prototypes.size());
  declare_alone(state_, name, {.kind = Symbol::Kind::kPrototype, .index = index});
  function_.prototypes.emplace_back();
  function_.prototypes.back().name = name;
  return index;
}

// All of the functions have one prototype, that of the first.
void InstructionParser::parse_call_targets(std::string_view name) {
  const uint32_t index = begin_prototype(name);
  const uint32_t first = find_symbol(lexer_.take_word(), Symbol::Kind::kFunction).index;
  while (lexer_.take(',')) find_symbol(lexer_.take_word(), Symbol::Kind::kFunction);
  lexer_.expect(';');
  Prototype& prototype = function_.prototypes[index];
  const Prototype& like = state_.module.functions[first].prototype;
  prototype.returns = like.returns;
  prototype.parameters = like.parameters;
}

// .callprototype (returns) _ (parameters);
void InstructionParser::parse_call_prototype(std::string_view name) {
  const uint32_t index = begin_prototype(name);
  Prototype prototype = function_.prototypes[index];
  state_.open_scope();
  if (lexer_.at('(')) prototype.returns = parse_parameters(state_);
  if (lexer_.take_word() != "_") lexer_.fail("'_' is missing in a prototype");
  if (lexer_.at('(')) prototype.parameters = parse_parameters(state_);
  state_.close_scope();
  while (lexer_.at('.')) {
    const std::string_view word = lexer_.take_dotted_word();
    if (word != "noreturn") lexer_.unsupported("." + std::string(word));
    prototype.no_return = true;
  }
  lexer_.expect(';');
  function_.prototypes[index] = std::move(prototype);
}

void InstructionParser::open_scope() {
  if (waiting_.size() == kMaxScopes) lexer_.fail("scopes are nested too deeply");
  state_.open_scope();
  waiting_.emplace_back();
}

void InstructionParser::close_scope() {
  std::vector<LabelUse> uses = std::move(waiting_.back());
  waiting_.pop_back();
  for (const LabelUse& use : uses) {
    const auto* entry = state_.names.find(use.name);
    if (entry && entry->depth == state_.names.depth() && entry->symbol.kind == Symbol::Kind::kLabel) {
      if (use.in_targets)
        function_.branch_targets[use.owner][use.place] = entry->symbol.index;
      else
        function_.body[use.owner].operands[use.place].index = entry->symbol.index;
    } else if (waiting_.empty()) {
      throw SyntaxFault{use.line, "unknown label " + quoted(use.name)};
    } else {
      waiting_.back().push_back(use);
    }
  }
  state_.close_scope();
}

}  // namespace bicrl::ptx
