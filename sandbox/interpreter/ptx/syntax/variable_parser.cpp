#include "sandbox/interpreter/ptx/syntax/variable_parser.h"

#include <algorithm>
#include <bit>

#include "sandbox/interpreter/ptx/syntax/constant_expression.h"
#include "sandbox/interpreter/ptx/syntax/initializer_parser.h"

namespace bicrl::ptx {
namespace {

// What stands before a declarator: .align 8 .v2 .f32
struct Declaration {
  Space space = Space::kGlobal;
  Type type = Type::kNone;
  uint32_t alignment = 0;  // 0: the type's own
  uint32_t vector = 1;
};

uint32_t parse_alignment(Lexer& lexer) {
  const uint32_t alignment = lexer.take_count();
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) lexer.fail("no alignment");
  return alignment;
}

// .ptr .global .align 16: what a pointer parameter points to, which means nothing to an execution.
void skip_pointer_attributes(Lexer& lexer) {
  while (lexer.at('.')) {
    const std::string_view word = lexer.take_dotted_word();
    if (word == "align")
      parse_alignment(lexer);
    else if (!parse_space(word))
      lexer.unsupported("." + std::string(word));
  }
}

Declaration parse_declaration(Lexer& lexer, Space space) {
  Declaration declaration{.space = space};
  while (lexer.at('.')) {
    const std::string_view word = lexer.take_dotted_word();
    if (word == "align") {
      declaration.alignment = parse_alignment(lexer);
    } else if (word == "v2" || word == "v4") {
      declaration.vector = word == "v2" ? 2 : 4;
    } else if (word == "ptr" && space == Space::kParam && declaration.type != Type::kNone) {
      skip_pointer_attributes(lexer);
    } else {
      const Type type = parse_type(word);
      if (bytes_of(type) == 0) lexer.unsupported("." + std::string(word));
      if (declaration.type != Type::kNone) lexer.fail("two types");
      declaration.type = type;
    }
  }
  if (declaration.type == Type::kNone) lexer.fail("a type is missing");
  return declaration;
}

// Sizes of the dimensions; the first is 0 if it is left open.
std::vector<uint64_t> parse_dimensions(Lexer& lexer) {
  std::vector<uint64_t> dimensions;
  while (lexer.take('[')) {
    if (dimensions.size() == kMaxDimensions) lexer.fail("too many dimensions");
    if (lexer.take(']')) {
      if (!dimensions.empty()) lexer.fail("only the first dimension can be left open");
      dimensions.push_back(0);
      continue;
    }
    const int64_t size = parse_integer_constant(lexer);
    if (size <= 0) lexer.fail("no size of an array");
    dimensions.push_back(static_cast<uint64_t>(size));
    lexer.expect(']');
  }
  return dimensions;
}

uint64_t limit_of(Space space) { return space == Space::kGlobal ? kMaxVariableBytes : kMaxOtherBytes; }

// Bytes of an array whose first dimension is not open.
uint64_t array_bytes(const Lexer& lexer, uint64_t element, const std::vector<uint64_t>& dimensions,
                     uint64_t limit) {
  uint64_t bytes = element;
  for (const uint64_t size : dimensions) {
    if (size > limit / bytes) lexer.fail("a variable is too large");
    bytes *= size;
  }
  return bytes;
}

Variable make_variable(const Declaration& declaration, std::string_view name) {
  const uint32_t own = static_cast<uint32_t>(bytes_of(declaration.type)) * declaration.vector;
  Variable variable;
  variable.name = name;
  variable.space = declaration.space;
  variable.type = declaration.type;
  variable.alignment = std::max(declaration.alignment, own);
  if (declaration.alignment != 0 && declaration.alignment < own && declaration.vector == 1)
    variable.alignment = declaration.alignment;
  return variable;
}

// The place of a variable in the module: of the declaration before, or a new one.
uint32_t place(ParseState& state, std::string_view name, const Variable& variable, bool is_definition) {
  const auto* before = state.names.find(name);
  if (before && before->depth == state.names.depth() && name != "_") {
    if (before->symbol.kind != Symbol::Kind::kVariable || state.names.depth() != 0)
      state.lexer.fail(quoted(name) + " is declared twice");
    const Variable& known = state.module.variables[before->symbol.index];
    if (known.space != variable.space || known.type != variable.type)
      state.lexer.fail(quoted(name) + " is declared in two ways");
    if (is_definition && !known.is_declared_only) state.lexer.fail(quoted(name) + " is defined twice");
    return before->symbol.index;
  }
  if (state.names.depth() == 0 && state.functions.find(name))
    state.lexer.fail(quoted(name) + " is declared in two ways");
  const uint32_t index = static_cast<uint32_t>(state.module.variables.size());
  state.module.variables.emplace_back();
  if (name == "_")
    state.spend(state.declared_names, 1, kMaxNames, "names");
  else
    state.declare(state.names, name, {.kind = Symbol::Kind::kVariable, .index = index});
  return index;
}

void check_space(const Lexer& lexer, const Variable& variable, bool at_module, Linkage linkage) {
  if (at_module && variable.space == Space::kParam) lexer.unsupported(".param outside a function");
  if (at_module && variable.space == Space::kLocal) lexer.unsupported(".local outside a function");
  if (variable.unsized && linkage != Linkage::kExtern) lexer.fail("the size of an array is missing");
}

uint32_t parse_declarator(ParseState& state, const Declaration& declaration, Linkage linkage) {
  Lexer& lexer = state.lexer;
  const std::string_view name = lexer.take_word();
  if (lexer.at('<')) lexer.unsupported("numbered variables");
  Variable variable = make_variable(declaration, name);
  std::vector<uint64_t> dimensions = parse_dimensions(lexer);
  const bool open = !dimensions.empty() && dimensions[0] == 0;
  const uint64_t element = static_cast<uint64_t>(bytes_of(variable.type)), limit = limit_of(variable.space);
  if (declaration.vector > 1) dimensions.push_back(declaration.vector);
  const bool initialized = lexer.at('=');
  variable.is_declared_only = linkage == Linkage::kExtern && !initialized;
  // The name is known within its own initial value.
  const uint32_t index = place(state, name, variable, !variable.is_declared_only);
  if (variable.is_declared_only && !state.module.variables[index].is_declared_only &&
      !state.module.variables[index].name.empty())
    variable = state.module.variables[index];  // a declaration after the definition
  else if (open && !initialized)
    variable.unsized = true;
  else if (!open)
    variable.bytes = array_bytes(lexer, element, dimensions, limit);
  if (lexer.take('=')) {
    if (variable.space != Space::kGlobal && variable.space != Space::kConst)
      lexer.fail("only global and constant variables have initial values");
    parse_initializer(state, variable, dimensions);
    if (open) variable.bytes = array_bytes(lexer, element, dimensions, limit);
  }
  check_space(lexer, variable, state.names.depth() == 0, linkage);
  if (variable.space == Space::kGlobal)
    state.spend(state.global_bytes, variable.bytes, kMaxVariableBytes, "variables");
  state.module.variables[index] = std::move(variable);
  return index;
}

}  // namespace

std::optional<Space> parse_space(std::string_view word) {
  if (word == "global") return Space::kGlobal;
  if (word == "const") return Space::kConst;
  if (word == "shared") return Space::kShared;
  if (word == "local") return Space::kLocal;
  if (word == "param") return Space::kParam;
  return std::nullopt;
}

std::vector<uint32_t> parse_variables(ParseState& state, Space space, Linkage linkage) {
  const Declaration declaration = parse_declaration(state.lexer, space);
  std::vector<uint32_t> indices;
  do indices.push_back(parse_declarator(state, declaration, linkage));
  while (state.lexer.take(','));
  state.lexer.expect(';');
  return indices;
}

std::vector<uint32_t> parse_parameters(ParseState& state) {
  Lexer& lexer = state.lexer;
  std::vector<uint32_t> indices;
  lexer.expect('(');
  if (lexer.take(')')) return indices;
  do {
    if (!lexer.at('.')) lexer.fail("'.param' is missing before " + quoted(lexer.token().text));
    const std::string_view word = lexer.take_dotted_word();
    if (word != "param") lexer.unsupported("." + std::string(word) + " as a parameter");
    indices.push_back(parse_declarator(state, parse_declaration(lexer, Space::kParam), Linkage::kLocal));
  } while (lexer.take(','));
  lexer.expect(')');
  return indices;
}

}  // namespace bicrl::ptx
