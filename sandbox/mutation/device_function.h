// A device function of a text, for whoever changes it: its tokens, and the changes as they are found.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "sandbox/frontend/device/code_structure.h"

namespace bicrl {

// A change of the tokens [first, last].
using Change = std::function<void(size_t first, size_t last, const std::string& replacement)>;

class DeviceFunction {
 public:
  // `body`: the token of its `{`. All must outlive this.
  DeviceFunction(const TokenText& text, const CodeStructure& structure, size_t body)
      : text_(text), structure_(structure), first_(text.next(body)), end_(structure.partner(body)) {}

  size_t first() const { return first_; }
  size_t end() const { return end_; }  // the token of its `}`
  size_t next(size_t i) const { return text_.next(i); }
  size_t previous(size_t i) const { return text_.previous(i); }
  std::string_view at(size_t i) const { return text_.at(i); }
  bool is(size_t i, std::string_view word) const { return text_.is(i, word); }
  bool is_name(size_t i) const { return text_.is_identifier(i); }
  bool is_number(size_t i) const {
    return i < text_.size() && text_.tokens()[i].kind == Token::Kind::kNumber;
  }
  size_t partner(size_t i) const { return structure_.partner(i); }
  // Code of [first, last].
  std::string code(size_t first, size_t last) const { return text_.flat(first, last + 1); }
  // Token i begins a statement.
  bool begins_statement(size_t i) const;
  // The statement's `;` at or behind i, outside of brackets that open behind it; end() if there is none.
  size_t statement_end(size_t i) const;
  // The arguments of the call whose `(` is at i: first and last token of each.
  std::vector<std::pair<size_t, size_t>> arguments(size_t open) const;

 private:
  const TokenText& text_;
  const CodeStructure& structure_;
  size_t first_, end_;
};

}  // namespace bicrl
