// Cuts the bodies of functions that only a device runs out of the text of the host part. Lines keep their
// numbers. One for each text; not thread-safe.
#pragma once
#include <string>
#include <vector>

#include "sandbox/frontend/device/code_structure.h"
#include "sandbox/frontend/device/token_text.h"
#include "sandbox/frontend/split/device_functions.h"
#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {

class BodyCutter {
 public:
  // Writes to `edits`. All must outlive this.
  BodyCutter(const TokenText& text, const CodeStructure& structure, TextEdits& edits);

  // The body of an opaque function, unless directives tie it to text outside. Macros that it defines stay.
  void cut(const DeviceFunction& function);
  // Token i is gone.
  bool is_cut(size_t i) const { return cut_[i]; }
  // Removes tokens [from, to), but not their line breaks, and puts `instead` in their place.
  void blank(size_t from, size_t to, bool in_macro, const std::string& instead = "");

 private:
  bool has_whole_directives(size_t from, size_t to) const;
  size_t behind_directive(size_t i, size_t limit) const;

  const TokenText& t_;
  const CodeStructure& structure_;
  const TokenWalk walk_;
  TextEdits& edits_;
  // A launch through a pointer without a type needs the kernel's parameters.
  bool untyped_launches_ = false;
  std::vector<bool> cut_;
};

}  // namespace bicrl
