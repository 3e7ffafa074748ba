#include "sandbox/interpreter/ptx/syntax/operand_parser.h"

#include <charconv>

#include "sandbox/interpreter/ptx/lowering/special_registers.h"
#include "sandbox/interpreter/ptx/syntax/constant_expression.h"

namespace bicrl::ptx {
namespace {

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

Operand make_operand(Operand::Kind kind, uint32_t index) {
  Operand operand;
  operand.kind = kind;
  operand.index = index;
  return operand;
}

void declare_alone(ParseState& state, std::string_view name, Symbol symbol) {
  ScopedNames& names = symbol.kind == Symbol::Kind::kRegisterRange ? state.ranges : state.names;
  const auto* before = names.find(name);
  if (before && before->depth == names.depth()) state.lexer.fail(quoted(name) + " is declared twice");
  state.declare(names, name, symbol);
}

void OperandParser::parse_registers() {
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
    declare_alone(state_, name, symbol);
  } while (lexer_.take(','));
  lexer_.expect(';');
}

uint32_t OperandParser::register_index(const Symbol& symbol, uint32_t number, std::string_view name) {
  Declared& declared = declared_[symbol.index];
  if (declared.size() <= number) declared.resize(number + 1);
  if (declared[number] == 0) {
    function_.registers.push_back({std::string(name), symbol.type});
    declared[number] = static_cast<uint32_t>(function_.registers.size());
  }
  return declared[number] - 1;
}

bool OperandParser::find_register(std::string_view name, Operand& operand) {
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

Operand OperandParser::constant_operand() {
  const Number number = parse_constant(lexer_);
  Operand operand = make_operand(number.type == Type::kS64 ? Operand::Kind::kInteger : Operand::Kind::kFloat);
  if (operand.kind == Operand::Kind::kFloat) operand.type = number.type;
  operand.bits = number.bits;
  return operand;
}

Operand OperandParser::parse_special(std::string_view name) {
  std::string whole(name);
  if (lexer_.at('.')) whole += "." + std::string(lexer_.take_dotted_word());
  auto operand = parse_special_register(whole);
  if (!operand && name.starts_with('%')) lexer_.unsupported("the register " + quoted(whole));
  if (!operand) lexer_.fail("unknown name " + quoted(whole));
  return *operand;
}

Operand OperandParser::parse_named() {
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
Operand OperandParser::parse_simple() {
  lexer_.scan_fraction();
  return begins_constant(lexer_) ? constant_operand() : parse_named();
}

Operand OperandParser::parse_vector() {
  Operand vector = make_operand(Operand::Kind::kVector);
  lexer_.expect('{');
  do {
    if (vector.elements.size() == kMaxVectorElements) lexer_.fail("a vector has too many elements");
    add(vector.elements, parse_simple());
  } while (lexer_.take(','));
  lexer_.expect('}');
  return vector;
}

Operand OperandParser::parse_address() {
  lexer_.expect('[');
  Operand address = make_operand(Operand::Kind::kAddress);
  add(address.elements, parse_simple());
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

Operand OperandParser::parse_negated() {
  lexer_.expect('!');
  Operand operand = parse_named();
  if (operand.kind != Operand::Kind::kRegister || operand.type != Type::kPred)
    lexer_.fail("'!' before what is no predicate");
  operand.negated = true;
  return operand;
}

Operand OperandParser::parse() {
  if (lexer_.at('{')) return parse_vector();
  if (lexer_.at('[')) return parse_address();
  if (lexer_.at('!')) return parse_negated();
  Operand operand = parse_simple();
  if (lexer_.at('|')) {
    Operand pair = make_operand(Operand::Kind::kPair);
    lexer_.advance();
    add(pair.elements, std::move(operand));
    add(pair.elements, parse_simple());
    for (const Operand& element : pair.elements)
      if (element.kind != Operand::Kind::kRegister && element.kind != Operand::Kind::kSink)
        lexer_.fail("'|' beside what is no register");
    return pair;
  }
  if (operand.kind == Operand::Kind::kVariable && lexer_.take('+'))
    operand.bits = parse_integer_constant(lexer_);
  return operand;
}

void OperandParser::add(std::vector<Operand>& operands, Operand operand) {
  state_.spend(state_.operands, 1, kMaxParsedOperands, "operands");
  if (operands.size() == kMaxInstructionOperands) lexer_.fail("an instruction has too many operands");
  operands.push_back(std::move(operand));
}

}  // namespace bicrl::ptx
