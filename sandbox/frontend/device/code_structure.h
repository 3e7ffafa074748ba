// The structure of a CUDA text as far as it can be found without a compiler: partners of brackets,
// directives, and the items at namespace scope. Linear time; any text has some structure.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/mark_macros.h"
#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

// Tokens [begin, end) that stand at namespace scope.
struct CodeItem {
  enum class Kind : uint8_t {
    kDirective,    // #... with its continued lines
    kScopeOpen,    // `namespace x {`, `extern "C" {`
    kScopeClose,   // its `}`
    kFunction,     // with a body
    kType,         // class, struct, union, enum
    kMacroCall,    // NAME(...) without a semicolon
    kDeclaration,  // anything else up to its semicolon: variables, aliases, prototypes, instantiations
  };
  Kind kind = Kind::kDeclaration;
  size_t begin = 0, end = 0;
  size_t body = 0;  // the body's `{`, 0 if there is none
  bool is_global = false;
  bool is_device = false;  // __device__, __constant__, __shared__ or __managed__
  bool is_constexpr = false;
  bool is_template = false;
  bool has_parameters = false;  // `(` outside templates' brackets and attributes, before any `=` or body
};

class CodeStructure {
 public:
  explicit CodeStructure(const TokenText& text);

  const std::vector<CodeItem>& items() const { return items_; }
  // The partner of the bracket ( [ { ) ] } at i; text().size() if it has none.
  size_t partner(size_t i) const { return partners_[i]; }
  // Token i lies in a preprocessor directive.
  bool in_directive(size_t i) const { return directive_[i]; }
  // What the word at i says of a function, by itself or as a macro.
  FunctionMarks marks_of(size_t i) const { return marks_->marks_of(t_.at(i)); }
  const MarkMacro* mark_macro(size_t i) const { return marks_->find(t_.at(i)); }

 private:
  void find_directives();
  void match_brackets();
  void find_items();
  CodeItem read_item(size_t begin, size_t end) const;
  size_t next(size_t i) const;
  size_t skip_angles(size_t open, size_t end) const;
  bool is_marks_with_arguments(size_t open) const;
  bool is_type_head(size_t begin, size_t brace) const;

  const TokenText& t_;
  std::vector<uint32_t> partners_;
  std::vector<bool> directive_;
  std::optional<MarkMacros> marks_;
  std::vector<CodeItem> items_;
};

}  // namespace bicrl
