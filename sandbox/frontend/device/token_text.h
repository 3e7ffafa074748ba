// Tokens of C++ text, just enough to rewrite it: comments and literals are told apart from code. Never fails;
// unfinished literals and comments reach to the end of the line or of the text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

struct Token {
  enum class Kind : uint8_t { kIdentifier, kNumber, kLiteral, kComment, kSpace, kInclude, kPunctuation };
  Kind kind = Kind::kSpace;
  uint32_t begin = 0, end = 0;
};

class TokenText {
 public:
  explicit TokenText(std::string text);  // one pass
  const std::string& text() const { return text_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  // Empty behind the last token.
  std::string_view at(size_t i) const {
    if (i >= tokens_.size()) return {};
    return std::string_view(text_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  bool is(size_t i, std::string_view text) const { return i < tokens_.size() && at(i) == text; }
  bool is_identifier(size_t i) const { return i < size() && tokens_[i].kind == Token::Kind::kIdentifier; }
  // Next or previous token that is code; size() if there is none.
  size_t next(size_t i) const;
  size_t previous(size_t i) const;
  // The closing partner of ( [ or { at i, within `budget` tokens; size() if there is none.
  size_t closing(size_t i, size_t budget = 200000) const;
  int line_of(size_t i) const;
  // Code of [from, to) on one line, comments and line breaks gone.
  std::string flat(size_t from, size_t to) const;

 private:
  bool skippable(size_t i) const {
    return tokens_[i].kind == Token::Kind::kSpace || tokens_[i].kind == Token::Kind::kComment;
  }
  std::string text_;
  std::vector<Token> tokens_;
};

// Whether the white space ends a logical line: a line break that no backslash takes away.
bool ends_line(std::string_view space);

// Replacements in a text, applied together. Edits must not overlap.
class TextEdits {
 public:
  void replace(uint32_t begin, uint32_t end, std::string text) {
    edits_.push_back({begin, end, std::move(text)});
  }
  void insert(uint32_t at, std::string text) { replace(at, at, std::move(text)); }
  std::string apply(const std::string& text);

 private:
  struct Edit {
    uint32_t begin, end;
    std::string text;
  };
  std::vector<Edit> edits_;
};

}  // namespace bicrl
