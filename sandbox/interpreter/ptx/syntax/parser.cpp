#include "sandbox/interpreter/ptx/syntax/parser.h"

#include "sandbox/interpreter/ptx/syntax/function_parser.h"
#include "sandbox/interpreter/ptx/syntax/parse_state.h"
#include "sandbox/interpreter/ptx/syntax/variable_parser.h"

namespace bicrl::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text) : state_(text), lexer_(state_.lexer) {}

  Module run() {
    while (!lexer_.at(Token::Kind::kEnd)) {
      if (!lexer_.at('.')) lexer_.fail("a directive is missing before " + quoted(lexer_.token().text));
      parse_directive(lexer_.take_dotted_word());
    }
    if (state_.module.version_major == 0) lexer_.fail("no .version");
    return std::move(state_.module);
  }

 private:
  void parse_directive(std::string_view word) {
    if (word == "version") return parse_version();
    if (word == "target") return parse_target();
    if (word == "file") return parse_file(state_);
    if (word == "section") return skip_section(lexer_);
    if (word == "pragma") return skip_pragma(lexer_);
    if (word == "address_size") {
      if (lexer_.take_count() != 64) lexer_.unsupported(".address_size other than 64");
      return;
    }
    parse_declaration(word);
  }

  // [.extern] .func ..., [.visible] .global ...
  void parse_declaration(std::string_view word) {
    Linkage linkage = Linkage::kLocal;
    if (word == "extern" || word == "visible" || word == "weak" || word == "common") {
      linkage = word == "extern" ? Linkage::kExtern : word == "visible" ? Linkage::kVisible : Linkage::kWeak;
      if (!lexer_.at('.')) lexer_.fail("a directive is missing before " + quoted(lexer_.token().text));
      word = lexer_.take_dotted_word();
    }
    if (word == "func" || word == "entry") return parse_function(state_, word == "entry");
    const auto space = parse_space(word);
    if (!space) lexer_.unsupported("." + std::string(word));
    parse_variables(state_, *space, linkage);
  }

  void parse_version() {
    const std::string_view text = lexer_.token().text;
    const size_t dot = text.find('.');
    lexer_.take_number();
    if (dot == text.npos || dot + 1 == text.size() || dot > 4 || text.size() - dot > 5)
      lexer_.fail("no version: " + quoted(text));
    for (const char c : text)
      if (c != '.' && (c < '0' || c > '9')) lexer_.fail("no version: " + quoted(text));
    state_.module.version_major = std::stoi(std::string(text.substr(0, dot)));
    state_.module.version_minor = std::stoi(std::string(text.substr(dot + 1)));
  }

  // .target sm_90, debug
  void parse_target() {
    const std::string_view target = lexer_.take_word();
    if (!target.starts_with("sm_")) lexer_.unsupported(".target " + quoted(target));
    state_.module.target = target;
    while (lexer_.take(',')) {
      const std::string_view option = lexer_.take_word();
      if (option != "debug") lexer_.unsupported(".target with " + quoted(option));
    }
  }

  ParseState state_;
  Lexer& lexer_;
};

}  // namespace

Result<Module> parse_module(std::string_view text) {
  if (text.size() > kMaxTextBytes) return Result<Module>::failure("the PTX text is too long");
  // nvrtcGetPTX gives the end of a C string as well.
  if (text.ends_with('\0')) text.remove_suffix(1);
  try {
    return ModuleParser(text).run();
  } catch (const SyntaxFault& fault) {
    return Result<Module>::failure(concat("PTX line ", fault.line, ": ", fault.message));
  }
}

}  // namespace bicrl::ptx
