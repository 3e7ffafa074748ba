// Walks over the tokens of a CUDA text that is being split: angle brackets, lists and names. Every walk ends
// after a bounded number of tokens, so that a pass over a text stays linear. Pure; the text must outlive it.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

// Places are tokens; size() of the text if there is none.
class TokenWalk {
 public:
  // Longest distance that the parts of a launch or of a declaration are followed.
  static constexpr size_t kReach = 4000;

  explicit TokenWalk(const TokenText& text) : t_(text) {}

  uint32_t begin(size_t i) const { return t_.tokens()[i].begin; }
  uint32_t end(size_t i) const { return t_.tokens()[i].end; }
  bool punctuation(size_t i, char c) const {
    return i < t_.size() && t_.tokens()[i].kind == Token::Kind::kPunctuation && t_.text()[begin(i)] == c;
  }
  // `<<<` or `>>>`
  bool three(size_t i, char c) const {
    return punctuation(i, c) && punctuation(i + 1, c) && punctuation(i + 2, c);
  }

  // The `<` that `>` at i closes.
  size_t opening_angle(size_t i) const;
  // Each part [from, to) between the brackets at `open` and `close`, split at commas outside brackets.
  using Parts = std::vector<std::pair<size_t, size_t>>;
  Parts parts(size_t open, size_t close) const;
  // The `=` of a parameter [from, to), or `to`.
  size_t default_of(size_t from, size_t to) const;
  // A function's parameters between its brackets, without default arguments.
  std::string parameters_text(size_t open, size_t close) const;
  // table[i], object.table[i]: the name before the bracket that closes at i.
  size_t subscripted(size_t i) const;
  // The object whose member the name at i is, through any number of dots and arrows; i if it is none.
  size_t object_before(size_t i) const;

 private:
  // +1 if a bracket opens at i, -1 if one closes, else 0.
  int bracket(size_t i) const;
  const TokenText& t_;
};

}  // namespace bicrl
