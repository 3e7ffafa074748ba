#include "sandbox/interpreter/ptx/syntax/lexer.h"

#include <array>
#include <bit>
#include <charconv>
#include <optional>

namespace bicrl::ptx {
namespace {

enum : uint8_t { kBlank = 1, kLetter = 2, kDigit = 4, kFollow = 8 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (char c : {' ', '\t', '\r', '\v', '\f'}) classes[static_cast<uint8_t>(c)] = kBlank;
  for (int c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kLetter | kFollow;
  for (int c = '0'; c <= '9'; ++c) classes[c] = kDigit | kFollow;
  classes['_'] = classes['$'] = kLetter | kFollow;
  classes['%'] = kLetter;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool is(char c, uint8_t of) { return kClasses[static_cast<uint8_t>(c)] & of; }

std::optional<uint64_t> parse_digits(std::string_view digits, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::optional<Number> parse_float_bits(std::string_view digits, Type type) {
  const auto bits = parse_digits(digits, 16);
  if (!bits || digits.size() != (type == Type::kF32 ? 8 : 16)) return std::nullopt;
  return Number{type, static_cast<int64_t>(*bits)};
}

std::optional<Number> parse_integer(std::string_view digits, int base) {
  if (digits.ends_with('U')) digits.remove_suffix(1);
  const auto value = parse_digits(digits, base);
  if (!value) return std::nullopt;
  return Number{Type::kS64, static_cast<int64_t>(*value)};
}

// Most numbers of a text are these.
std::optional<Number> parse_short_decimal(std::string_view text) {
  if (text.size() > 9 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  Number number;
  for (const char c : text) {
    if (!is(c, kDigit)) return std::nullopt;
    number.bits = 10 * number.bits + (c - '0');
  }
  return number;
}

std::optional<Number> parse_number(std::string_view text) {
  if (const auto number = parse_short_decimal(text)) return number;
  const char kind = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  switch (kind) {
    case 'x':
    case 'X':
      return parse_integer(text.substr(2), 16);
    case 'b':
    case 'B':
      return parse_integer(text.substr(2), 2);
    case 'f':
    case 'F':
      return parse_float_bits(text.substr(2), Type::kF32);
    case 'd':
    case 'D':
      return parse_float_bits(text.substr(2), Type::kF64);
    default:
      break;
  }
  if (text.find_first_of(".eE") != text.npos) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Number{Type::kF64, std::bit_cast<int64_t>(value)};
  }
  return parse_integer(text, kind != '\0' ? 8 : 10);
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr size_t kMostCharacters = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kMostCharacters)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kMostCharacters ? "...\"" : "\"");
}

void Lexer::fail(std::string message) const { throw SyntaxFault{token_.line, std::move(message)}; }

void Lexer::unsupported(std::string_view what) const {
  fail("unsupported: " + std::string(what.substr(0, 100)));
}

void Lexer::skip_blanks() {
  for (;;) {
    const char c = peek();
    if (c == '\n') {
      ++line_;
      ++at_;
    } else if (is(c, kBlank)) {
      ++at_;
    } else if (c == '/' && peek(1) == '/') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      const size_t end = text_.find("*/", at_ + 2);
      if (end == text_.npos) throw SyntaxFault{line_, "a comment does not end"};
      for (; at_ < end; ++at_) line_ += text_[at_] == '\n';
      at_ += 2;
    } else {
      return;
    }
  }
}

void Lexer::advance() {
  skip_blanks();
  token_.line = line_;
  if (at_ >= text_.size()) {
    token_.kind = Token::Kind::kEnd;
    token_.text = {};
    return;
  }
  const size_t begin = at_;
  const char c = text_[at_];
  if (is(c, kLetter) && (c != '%' || is(peek(1), kFollow))) {
    ++at_;
    while (is(peek(), kFollow)) ++at_;
    token_.kind = Token::Kind::kWord;
  } else if (is(c, kDigit)) {
    scan_number();
  } else if (c == '"') {
    return scan_string();
  } else {
    ++at_;
    token_.kind = Token::Kind::kSign;
    token_.sign = c;
  }
  token_.text = text_.substr(begin, at_ - begin);
}

void Lexer::scan_number() {
  token_.kind = Token::Kind::kNumber;
  const bool prefixed = peek() == '0' && is(peek(1), kLetter) && peek(1) != 'e' && peek(1) != 'E';
  while (is(peek(), kFollow)) ++at_;
  if (prefixed) return;
  if (peek() == '.') {
    ++at_;
    while (is(peek(), kFollow)) ++at_;
  }
  const char last = text_[at_ - 1];
  if ((last == 'e' || last == 'E') && (peek() == '-' || peek() == '+') && is(peek(1), kDigit)) {
    ++at_;
    while (is(peek(), kDigit)) ++at_;
  }
}

void Lexer::scan_string() {
  const size_t begin = ++at_;
  for (; peek() != '"'; ++at_) {
    if (peek() == '\\') ++at_;
    if (at_ >= text_.size() || text_[at_] == '\n') fail("a string does not end");
  }
  token_.kind = Token::Kind::kString;
  token_.text = text_.substr(begin, at_ - begin);
  ++at_;
}

bool Lexer::take(char sign) {
  if (!at(sign)) return false;
  advance();
  return true;
}

void Lexer::expect(char sign) {
  if (!take(sign))
    fail(std::string("'") + sign + "' is missing before " +
         (at(Token::Kind::kEnd) ? "the end" : quoted(token_.text)));
}

std::string_view Lexer::take_word() {
  if (!at(Token::Kind::kWord)) fail("a name is missing before " + quoted(token_.text));
  const std::string_view text = token_.text;
  advance();
  return text;
}

std::string_view Lexer::take_string() {
  if (!at(Token::Kind::kString)) fail("a string is missing before " + quoted(token_.text));
  const std::string_view text = token_.text;
  advance();
  return text;
}

Number Lexer::take_number() {
  if (!at(Token::Kind::kNumber)) fail("a number is missing before " + quoted(token_.text));
  const auto number = parse_number(token_.text);
  if (!number) fail("no number: " + quoted(token_.text));
  advance();
  return *number;
}

uint32_t Lexer::take_count() {
  const std::string_view text = token_.text;
  const Number number = take_number();
  if (number.type != Type::kS64 || number.bits < 0 || number.bits > UINT32_MAX)
    fail("no count: " + quoted(text));
  return static_cast<uint32_t>(number.bits);
}

void Lexer::scan_fraction() {
  if (!at('.') || !is(peek(), kDigit)) return;
  --at_;
  const size_t begin = at_;
  scan_number();
  token_.text = text_.substr(begin, at_ - begin);
}

std::string_view Lexer::take_dotted_word() {
  const size_t begin = at_;
  while (is(peek(), kFollow)) ++at_;
  while (peek() == ':' && peek(1) == ':' && is(peek(2), kFollow)) {
    at_ += 2;
    while (is(peek(), kFollow)) ++at_;
  }
  if (at_ == begin) fail("a word is missing after '.'");
  const std::string_view text = text_.substr(begin, at_ - begin);
  advance();
  return text;
}

void Lexer::skip_braces() {
  expect('{');
  for (uint64_t depth = 1; depth > 0; advance()) {
    if (at(Token::Kind::kEnd)) fail("'}' is missing before the end");
    if (at('{')) ++depth;
    if (at('}')) --depth;
  }
}

}  // namespace bicrl::ptx
