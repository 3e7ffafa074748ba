#include "sandbox/ptx/instruction_parser.h"

#include <algorithm>
#include <charconv>

#include "sandbox/ptx/constant_expression.h"
#include "sandbox/ptx/special_registers.h"
#include "sandbox/ptx/variable_parser.h"

namespace bicrl::ptx {
namespace {

Operand make_operand(Operand::Kind kind, uint32_t index = 0) {
  Operand operand;
  operand.kind = kind;
  operand.index = index;
  return operand;
}

// The number at the end of "%r12", or nothing if no range of registers can mean the name.
struct NumberedName {
  std::string_view stem;
  uint32_t number = 0;
};
bool split_number(std::string_view name, NumberedName& out) {
  size_t begin = name.size();
  while (begin > 1 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  const size_t digits = name.size() - begin;
  if (digits == 0 || digits > 9 || (digits > 1 && name[begin] == '0')) return false;
  out.stem = name.substr(0, begin);
  std::from_chars(name.data() + begin, name.data() + name.size(), out.number);
  return true;
}

}  // namespace

void InstructionParser::declare_alone(std::string_view name, Symbol symbol) {
  ScopedNames& names = symbol.kind == Symbol::Kind::kRegisterRange ? state_.ranges : state_.names;
  const auto* before = names.find(name);
  if (before && before->depth == names.depth()) lexer_.fail(quoted(name) + " is declared twice");
  names.declare(name, symbol);
}

void InstructionParser::parse_registers() {
  if (!lexer_.at('.')) lexer_.fail("a type is missing");
  const std::string_view word = lexer_.take_dotted_word();
  const Type type = parse_type(word);
  if (type == Type::kNone || lexer_.at('.')) lexer_.unsupported("registers of type ." + std::string(word));
  do {
    const std::string_view name = lexer_.take_word();
    Symbol symbol{.kind = Symbol::Kind::kRegister, .type = type};
    uint32_t count = 1;
    if (lexer_.take('<')) {
      symbol.kind = Symbol::Kind::kRegisterRange;
      count = symbol.count = lexer_.take_count();
      lexer_.expect('>');
    }
    state_.spend(state_.declared_registers, count, kMaxDeclaredRegisters, "registers");
    symbol.index = static_cast<uint32_t>(declared_.size());
    declared_.emplace_back();
    declare_alone(name, symbol);
  } while (lexer_.take(','));
  lexer_.expect(';');
}

uint32_t InstructionParser::register_index(const Symbol& symbol, uint32_t number, std::string_view name) {
  Declared& declared = declared_[symbol.index];
  if (declared.size() <= number) declared.resize(number + 1);
  if (declared[number] == 0) {
    function_.registers.push_back({std::string(name), symbol.type});
    declared[number] = static_cast<uint32_t>(function_.registers.size());
  }
  return declared[number] - 1;
}

bool InstructionParser::find_register(std::string_view name, Operand& operand) {
  const auto* single = state_.names.find(name);
  NumberedName numbered;
  const ScopedNames::Entry* range = nullptr;
  if (split_number(name, numbered)) range = state_.ranges.find(numbered.stem);
  // A range hides the outer one for its own numbers alone.
  while (range && numbered.number >= range->symbol.count) range = state_.ranges.hidden_by(*range);
  const bool take_single =
      single && single->symbol.kind == Symbol::Kind::kRegister && (!range || single->depth >= range->depth);
  if (!take_single && (!range || (single && single->depth > range->depth))) return false;
  const Symbol& symbol = take_single ? single->symbol : range->symbol;
  operand =
      make_operand(Operand::Kind::kRegister, register_index(symbol, take_single ? 0 : numbered.number, name));
  operand.type = symbol.type;
  return true;
}

const Symbol& InstructionParser::find_symbol(std::string_view name, Symbol::Kind kind) {
  const Symbol* symbol = state_.find(name);
  if (!symbol || symbol->kind != kind) lexer_.fail("unknown name " + quoted(name));
  return *symbol;
}

Operand InstructionParser::constant_operand() {
  const Number number = parse_constant(lexer_);
  Operand operand = make_operand(number.type == Type::kS64 ? Operand::Kind::kInteger : Operand::Kind::kFloat);
  if (operand.kind == Operand::Kind::kFloat) operand.type = number.type;
  operand.bits = number.bits;
  return operand;
}

Operand InstructionParser::parse_special(std::string_view name) {
  std::string whole(name);
  if (lexer_.at('.')) whole += "." + std::string(lexer_.take_dotted_word());
  auto operand = parse_special_register(whole);
  if (!operand && name.starts_with('%')) lexer_.unsupported("the register " + quoted(whole));
  if (!operand) lexer_.fail("unknown name " + quoted(whole));
  return *operand;
}

Operand InstructionParser::parse_named_operand() {
  const std::string_view name = lexer_.take_word();
  if (name == "_") return make_operand(Operand::Kind::kSink);
  Operand operand;
  if (find_register(name, operand)) {
    if (lexer_.at('.')) lexer_.unsupported("parts of registers, " + quoted(name));
    return operand;
  }
  const Symbol* symbol = state_.find(name);
  if (!symbol) return parse_special(name);
  switch (symbol->kind) {
    case Symbol::Kind::kVariable:
      operand = make_operand(Operand::Kind::kVariable, symbol->index);
      if (lexer_.at('[')) lexer_.unsupported("elements of arrays as operands");
      return operand;
    case Symbol::Kind::kFunction:
      return make_operand(Operand::Kind::kFunction, symbol->index);
    case Symbol::Kind::kBranchTargets:
      return make_operand(Operand::Kind::kTargets, symbol->index);
    default:
      lexer_.fail(quoted(name) + " is no operand");
  }
}

// What can stand in a vector or a pair.
Operand InstructionParser::parse_simple_operand() {
  lexer_.scan_fraction();
  return begins_constant(lexer_) ? constant_operand() : parse_named_operand();
}

Operand InstructionParser::parse_vector() {
  Operand vector = make_operand(Operand::Kind::kVector);
  lexer_.expect('{');
  do {
    if (vector.elements.size() == kMaxVectorElements) lexer_.fail("a vector has too many elements");
    add_operand(vector.elements, parse_simple_operand());
  } while (lexer_.take(','));
  lexer_.expect('}');
  return vector;
}

Operand InstructionParser::parse_address() {
  lexer_.expect('[');
  Operand address = make_operand(Operand::Kind::kAddress);
  add_operand(address.elements, parse_simple_operand());
  const Operand::Kind base = address.elements[0].kind;
  if (base != Operand::Kind::kRegister && base != Operand::Kind::kVariable && base != Operand::Kind::kInteger)
    lexer_.fail("no address");
  if (lexer_.take('+')) {
    if (!begins_constant(lexer_)) lexer_.unsupported("a sum of registers as an address");
    address.bits = parse_integer_constant(lexer_);
  }
  if (lexer_.at(',')) lexer_.unsupported("coordinates in an address");
  lexer_.expect(']');
  if (lexer_.at('.')) lexer_.unsupported("attributes of an address");
  return address;
}

Operand InstructionParser::parse_negated() {
  lexer_.expect('!');
  Operand operand = parse_named_operand();
  if (operand.kind != Operand::Kind::kRegister || operand.type != Type::kPred)
    lexer_.fail("'!' before what is no predicate");
  operand.negated = true;
  return operand;
}

Operand InstructionParser::parse_operand() {
  if (lexer_.at('{')) return parse_vector();
  if (lexer_.at('[')) return parse_address();
  if (lexer_.at('!')) return parse_negated();
  Operand operand = parse_simple_operand();
  if (lexer_.at('|')) {
    Operand pair = make_operand(Operand::Kind::kPair);
    lexer_.advance();
    add_operand(pair.elements, std::move(operand));
    add_operand(pair.elements, parse_simple_operand());
    for (const Operand& element : pair.elements)
      if (element.kind != Operand::Kind::kRegister && element.kind != Operand::Kind::kSink)
        lexer_.fail("'|' beside what is no register");
    return pair;
  }
  if (operand.kind == Operand::Kind::kVariable && lexer_.take('+'))
    operand.bits = parse_integer_constant(lexer_);
  return operand;
}

void InstructionParser::add_operand(std::vector<Operand>& operands, Operand operand) {
  state_.spend(state_.operands, 1, kMaxOperands, "operands");
  if (operands.size() == kMaxInstructionOperands) lexer_.fail("an instruction has too many operands");
  operands.push_back(std::move(operand));
}

void InstructionParser::parse_operands(Instruction& instruction) {
  if (lexer_.at(';')) return;
  instruction.operands.reserve(4);
  do add_operand(instruction.operands, parse_operand());
  while (lexer_.take(','));
}

void InstructionParser::parse_branch(Instruction& instruction) {
  const uint32_t line = lexer_.line();
  const std::string_view name = lexer_.take_word();
  add_operand(instruction.operands, make_operand(Operand::Kind::kLabel));
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
  do add_operand(operands, parse_operand());
  while (lexer_.take(','));
  lexer_.expect(')');
}

void InstructionParser::parse_callee_list(Instruction& instruction) {
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
  Operand callee = parse_named_operand();
  const bool indirect = callee.kind == Operand::Kind::kRegister;
  if (!indirect && callee.kind != Operand::Kind::kFunction) lexer_.fail("a call of what is no function");
  add_operand(instruction.operands, std::move(callee));
  if (lexer_.take(',')) {
    if (lexer_.at('(')) {
      parse_arguments(instruction.operands);
      if (lexer_.take(',')) parse_callee_list(instruction);
    } else {
      parse_callee_list(instruction);
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
  const Operand guard = parse_named_operand();
  if (guard.kind != Operand::Kind::kRegister || guard.type != Type::kPred)
    lexer_.fail("a guard that is no predicate");
  guard_ = static_cast<int32_t>(guard.index);
  const uint32_t line = lexer_.line();
  const std::string_view opcode = lexer_.take_word();
  parse_instruction(opcode, line);
}

void InstructionParser::define_label(std::string_view name) {
  declare_alone(name,
                {.kind = Symbol::Kind::kLabel, .index = static_cast<uint32_t>(function_.labels.size())});
  function_.labels.push_back(static_cast<uint32_t>(function_.body.size()));
  function_.label_names.emplace_back(name);
}

void InstructionParser::parse_branch_targets(std::string_view name) {
  const uint32_t owner = static_cast<uint32_t>(function_.branch_targets.size());
  declare_alone(name, {.kind = Symbol::Kind::kBranchTargets, .index = owner});
  function_.branch_targets.emplace_back();
  do {
    const uint32_t place = static_cast<uint32_t>(function_.branch_targets[owner].size());
    const uint32_t line = lexer_.line();
    waiting_.back().push_back({true, owner, place, lexer_.take_word(), line});
    function_.branch_targets[owner].push_back(0);
  } while (lexer_.take(','));
  lexer_.expect(';');
}

uint32_t InstructionParser::begin_prototype(std::string_view name) {
  const uint32_t index = static_cast<uint32_t>(function_.prototypes.size());
  declare_alone(name, {.kind = Symbol::Kind::kPrototype, .index = index});
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
