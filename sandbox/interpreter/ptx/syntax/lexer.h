// Tokens of PTX text. Holds a view of the text; one thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl::ptx {

// What is wrong with a text, and where. Thrown within the parser alone; parse_module() makes a Result of it.
struct SyntaxFault {
  uint32_t line = 0;
  std::string message;
};

struct Token {
  enum class Kind : uint8_t { kEnd, kWord, kNumber, kString, kSign };
  Kind kind = Kind::kEnd;
  char sign = 0;          // of kSign, a single character
  std::string_view text;  // as written; of kString without the quotes
  uint32_t line = 1;
};

// A number as the text says it: bits of kF32 or kF64, or of an integer (kS64).
struct Number {
  Type type = Type::kS64;
  int64_t bits = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  const Token& token() const { return token_; }
  uint32_t line() const { return token_.line; }
  void advance();

  bool at(char sign) const { return token_.kind == Token::Kind::kSign && token_.sign == sign; }
  bool at(Token::Kind kind) const { return token_.kind == kind; }
  bool take(char sign);  // whether it was there
  void expect(char sign);
  std::string_view take_word();
  std::string_view take_string();
  Number take_number();
  uint32_t take_count();  // a plain number that fits
  // Before an operand, where ".5" is a number and no modifier: makes it the token, if it is one.
  void scan_fraction();
  // With the token at a '.': the word after it, which may begin with a digit and have parts joined by "::".
  std::string_view take_dotted_word();
  // With the token at a '{': skips to behind the '}' that closes it.
  void skip_braces();

  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void unsupported(std::string_view what) const;

 private:
  void skip_blanks();
  void scan_number();
  void scan_string();
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  Token token_;
};

// A piece of the text for a message: short, printable.
std::string quoted(std::string_view text);

}  // namespace bicrl::ptx
