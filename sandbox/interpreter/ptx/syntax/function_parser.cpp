#include "sandbox/interpreter/ptx/syntax/function_parser.h"

#include <algorithm>

#include "sandbox/interpreter/ptx/syntax/instruction_parser.h"
#include "sandbox/interpreter/ptx/syntax/variable_parser.h"

namespace bicrl::ptx {
namespace {

// The part before the body.
class HeaderParser {
 public:
  HeaderParser(ParseState& state, bool is_entry) : state_(state), lexer_(state.lexer) {
    function_.is_entry = is_entry;
  }

  // Parameters and results get known in the scope that is open.
  Function run() {
    Prototype& prototype = function_.prototype;
    if (!function_.is_entry && lexer_.at('(')) prototype.returns = parse_parameters(state_);
    name_ = lexer_.take_word();
    function_.name = prototype.name = name_;
    if (lexer_.at('(')) prototype.parameters = parse_parameters(state_);
    while (lexer_.at('.')) parse_attribute(lexer_.take_dotted_word());
    return std::move(function_);
  }

  std::string_view name() const { return name_; }  // as the text holds it

 private:
  void parse_attribute(std::string_view word) {
    LaunchBounds& bounds = function_.bounds;
    if (word == "maxntid")
      parse_sizes(bounds.max_threads);
    else if (word == "reqntid")
      parse_sizes(bounds.required_threads);
    else if (word == "minnctapersm")
      bounds.min_blocks = lexer_.take_count();
    else if (word == "maxnctapersm")
      lexer_.take_count();
    else if (word == "maxnreg")
      bounds.max_registers = lexer_.take_count();
    else if (word == "reqnctapercluster")
      parse_cluster();
    else if (word == "explicitcluster")
      return;
    else if (word == "noreturn")
      function_.prototype.no_return = true;
    else if (word == "pragma")
      skip_pragma(lexer_);
    else
      lexer_.unsupported("." + std::string(word));
  }

  void parse_sizes(uint32_t (&sizes)[3]) {
    std::fill(std::begin(sizes), std::end(sizes), 1);
    for (uint32_t& size : sizes) {
      size = lexer_.take_count();
      if (size == 0) lexer_.fail("a size of 0");
      if (!lexer_.take(',')) break;
    }
  }

  // A cluster of one block is none.
  void parse_cluster() {
    uint32_t blocks[3];
    parse_sizes(blocks);
    for (const uint32_t size : blocks)
      if (size != 1) lexer_.unsupported("clusters of several blocks");
  }

  ParseState& state_;
  Lexer& lexer_;
  std::string_view name_;
  Function function_;
};

class BodyParser {
 public:
  BodyParser(ParseState& state, Function& function)
      : state_(state), lexer_(state.lexer), function_(function), instructions_(state, function) {}

  void run() {
    size_t depth = 0;
    do {
      if (lexer_.take('{')) {
        instructions_.open_scope();
        ++depth;
      } else if (lexer_.at('}')) {
        instructions_.close_scope();
        lexer_.advance();
        --depth;
      } else {
        parse_statement();
      }
    } while (depth > 0);
  }

 private:
  void parse_statement() {
    if (lexer_.at('.')) return parse_directive(lexer_.take_dotted_word());
    if (lexer_.at('@')) return instructions_.parse_guarded();
    if (lexer_.at(Token::Kind::kEnd)) lexer_.fail("'}' is missing before the end");
    const uint32_t line = lexer_.line();
    const std::string_view name = lexer_.take_word();
    if (lexer_.take(':')) return parse_labelled(name);
    instructions_.parse_instruction(name, line);
  }

  void parse_labelled(std::string_view name) {
    if (!lexer_.at('.')) return instructions_.define_label(name);
    const std::string_view word = lexer_.take_dotted_word();
    if (word == "branchtargets") return instructions_.parse_branch_targets(name);
    if (word == "calltargets") return instructions_.parse_call_targets(name);
    if (word == "callprototype") return instructions_.parse_call_prototype(name);
    instructions_.define_label(name);
    parse_directive(word);
  }

  void parse_directive(std::string_view word) {
    if (word == "reg") return instructions_.parse_registers();
    if (word == "loc") return parse_location();
    if (word == "pragma") return skip_pragma(lexer_);
    if (word == "file") return parse_file(state_);
    if (word == "section") return skip_section(lexer_);
    const auto space = parse_space(word);
    if (!space) lexer_.unsupported("." + std::string(word));
    for (const uint32_t index : parse_variables(state_, *space, Linkage::kLocal))
      function_.variables.push_back(index);
  }

  // .loc file line column [, function_name label [+ offset], inlined_at file line column]
  void parse_location() {
    SourceLine source;
    source.file = state_.file_index(lexer_.take_count());
    source.line = lexer_.take_count();
    lexer_.take_count();
    while (lexer_.take(',')) {
      const std::string_view word = lexer_.take_word();
      if (word == "function_name") {
        lexer_.take_word();
        if (lexer_.take('+')) lexer_.take_count();
      } else if (word == "inlined_at") {
        for (int i = 0; i < 3; ++i) lexer_.take_count();
      } else {
        lexer_.unsupported(".loc with " + quoted(word));
      }
    }
    instructions_.set_source(source);
  }

  ParseState& state_;
  Lexer& lexer_;
  Function& function_;
  InstructionParser instructions_;
};

// The function's place in the module, which is known by its name from here on.
uint32_t declare(ParseState& state, std::string_view name, const Function& function) {
  std::vector<Function>& functions = state.module.functions;
  const auto* other = state.names.find(name);
  if (other && other->depth == 0) state.lexer.fail(quoted(name) + " is declared in two ways");
  if (const auto* before = state.functions.find(name)) {
    const Function& known = functions[before->symbol.index];
    if (known.is_entry != function.is_entry) state.lexer.fail(quoted(name) + " is declared in two ways");
    if (state.lexer.at('{') && !known.is_declared_only) state.lexer.fail(quoted(name) + " is defined twice");
    return before->symbol.index;
  }
  const uint32_t index = static_cast<uint32_t>(functions.size());
  state.declare(state.functions, name, {.kind = Symbol::Kind::kFunction, .index = index});
  Function& placed = functions.emplace_back();
  placed.name = name;
  placed.is_entry = function.is_entry;
  placed.is_declared_only = true;
  placed.prototype = function.prototype;
  placed.bounds = function.bounds;
  return index;
}

}  // namespace

void parse_function(ParseState& state, bool is_entry) {
  state.open_scope();
  HeaderParser header(state, is_entry);
  Function function = header.run();
  const uint32_t index = declare(state, header.name(), function);
  if (state.lexer.at('{')) {
    BodyParser(state, function).run();
    state.module.functions[index] = std::move(function);
  } else {
    state.lexer.expect(';');
  }
  state.close_scope();
}

void parse_file(ParseState& state) {
  const uint32_t index = state.file_index(state.lexer.take_count());
  state.module.files[index] = state.lexer.take_string();
  while (state.lexer.take(',')) state.lexer.take_number();  // its time and size
}

void skip_pragma(Lexer& lexer) {
  do lexer.take_string();
  while (lexer.take(','));
  lexer.expect(';');
}

void skip_section(Lexer& lexer) {
  if (lexer.at('.')) lexer.take_dotted_word();
  while (!lexer.at('{')) lexer.take_word();
  lexer.skip_braces();
}

}  // namespace bicrl::ptx
