#include "sandbox/frontend/device/token_text.h"

#include <algorithm>

namespace bicrl {
namespace {

bool starts_name(unsigned char c) {
  return c == '_' || static_cast<unsigned>((c | 32) - 'a') < 26u || c >= 0x80;
}
bool is_digit(unsigned char c) { return static_cast<unsigned>(c - '0') < 10u; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (at_ < text_.size()) {
      const size_t begin = at_;
      const Token::Kind kind = step();
      tokens.push_back({kind, static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)});
      if (kind != Token::Kind::kSpace && kind != Token::Kind::kComment) line_start_ = false;
    }
    return tokens;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  Token::Kind step() {
    const auto c = static_cast<unsigned char>(peek());
    if (c <= ' ' || (c == '\\' && (peek(1) == '\n' || peek(1) == '\r'))) return space();
    if (c == '/' && peek(1) == '/') return to_line_end(Token::Kind::kComment);
    if (c == '/' && peek(1) == '*') return block_comment();
    if (c == '#' && line_start_ && names_include()) return to_line_end(Token::Kind::kInclude);
    if (c == '"' || c == '\'') return literal(static_cast<char>(c));
    if (starts_name(c)) return name();
    if (is_digit(c) || (c == '.' && is_digit(static_cast<unsigned char>(peek(1))))) return number();
    ++at_;
    return Token::Kind::kPunctuation;
  }

  Token::Kind space() {
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(peek());
      if (c == '\n') line_start_ = true;
      if (c <= ' ') {
        ++at_;
      } else if (c == '\\' && (peek(1) == '\n' || peek(1) == '\r')) {
        at_ += 2;
      } else {
        break;
      }
    }
    return Token::Kind::kSpace;
  }

  Token::Kind to_line_end(Token::Kind kind) {
    while (at_ < text_.size() && peek() != '\n') at_ += peek() == '\\' && peek(1) == '\n' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    return kind;
  }

  Token::Kind block_comment() {
    const size_t end = text_.find("*/", at_ + 2);
    at_ = end == std::string_view::npos ? text_.size() : end + 2;
    return Token::Kind::kComment;
  }

  bool names_include() const {
    size_t i = at_ + 1;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    return text_.substr(i, 7) == "include";
  }

  Token::Kind literal(char quote) {
    ++at_;
    while (at_ < text_.size() && peek() != quote && peek() != '\n') at_ += peek() == '\\' ? 2 : 1;
    at_ = std::min(at_ + (peek() == quote), text_.size());
    return Token::Kind::kLiteral;
  }

  Token::Kind raw_literal() {
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 18) return literal('"');
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const size_t end = text_.find(close, open);
    at_ = end == std::string_view::npos ? text_.size() : end + close.size();
    return Token::Kind::kLiteral;
  }

  Token::Kind name() {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (starts_name(static_cast<unsigned char>(peek())) || is_digit(static_cast<unsigned char>(peek()))))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (peek() == '"' && (word == "R" || word == "u8R" || word == "uR" || word == "LR" || word == "UR"))
      return raw_literal();
    if ((peek() == '"' || peek() == '\'') && (word == "u8" || word == "u" || word == "L" || word == "U"))
      return literal(peek());
    return Token::Kind::kIdentifier;
  }

  Token::Kind number() {
    while (at_ < text_.size()) {
      const auto c = static_cast<unsigned char>(peek());
      const bool sign =
          (c == '+' || c == '-') && ((text_[at_ - 1] | 32) == 'e' || (text_[at_ - 1] | 32) == 'p');
      const bool separator = c == '\'' && is_digit(static_cast<unsigned char>(peek(1)));
      if (!starts_name(c) && !is_digit(c) && c != '.' && !sign && !separator) break;
      ++at_;
    }
    return Token::Kind::kNumber;
  }

  std::string_view text_;
  size_t at_ = 0;
  bool line_start_ = true;
};

}  // namespace

TokenText::TokenText(std::string text) : text_(std::move(text)), tokens_(Lexer(text_).run()) {}

size_t TokenText::next(size_t i) const {
  for (++i; i < size(); ++i)
    if (!skippable(i)) return i;
  return size();
}

size_t TokenText::previous(size_t i) const {
  while (i-- > 0)
    if (!skippable(i)) return i;
  return size();
}

size_t TokenText::closing(size_t i, size_t budget) const {
  int depth = 0;
  for (size_t n = 0; i < size() && n < budget; ++i, ++n) {
    if (tokens_[i].kind != Token::Kind::kPunctuation) continue;
    const char c = text_[tokens_[i].begin];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth <= 0) return i;
  }
  return size();
}

int TokenText::line_of(size_t i) const {
  if (i >= size()) return 0;
  return 1 + static_cast<int>(std::count(text_.begin(), text_.begin() + tokens_[i].begin, '\n'));
}

std::string TokenText::flat(size_t from, size_t to) const {
  std::string out;
  for (size_t i = from; i < to && i < size(); ++i) {
    if (skippable(i)) {
      if (!out.empty() && out.back() != ' ') out += ' ';
    } else {
      out += at(i);
    }
  }
  return out;
}

bool ends_line(std::string_view space) {
  for (size_t i = 0; i < space.size(); ++i) {
    if (space[i] != '\n') continue;
    size_t before = i;
    if (before > 0 && space[before - 1] == '\r') --before;
    if (before == 0 || space[before - 1] != '\\') return true;
  }
  return false;
}

std::string TextEdits::apply(const std::string& text) {
  std::stable_sort(edits_.begin(), edits_.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  uint32_t at = 0;
  for (const Edit& e : edits_) {
    if (e.begin < at) continue;  // within an earlier edit: a launch inside another's arguments
    out.append(text, at, e.begin - at);
    // `case 0:` and `::name` would be three colons.
    if (!out.empty() && out.back() == ':' && !e.text.empty() && e.text.front() == ':') out += ' ';
    out += e.text;
    at = e.end;
  }
  out.append(text, at, std::string::npos);
  return out;
}

}  // namespace bicrl
