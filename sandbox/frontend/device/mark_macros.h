// Execution space specifiers: nvcc's own words, PyTorch's macros for them, and macros of the text that stand
// for them (`#define HD __host__ __device__`). A macro that is defined several times, in branches of an #if,
// has the marks of all its definitions.
#pragma once
#include <map>
#include <string_view>
#include <vector>

#include "sandbox/frontend/device/token_text.h"

namespace bicrl {

struct FunctionMarks {
  bool global = false, device = false, host = false, evaluated = false;  // evaluated: constexpr, consteval
  void merge(const FunctionMarks& o) {
    global |= o.global;
    device |= o.device;
    host |= o.host;
    evaluated |= o.evaluated;
  }
};

// A macro that stands for a function's marks, perhaps with its name and parameters; never with its body.
struct MarkMacro {
  FunctionMarks marks;
  bool takes_arguments = false, has_parameters = false;
};

// One for each text, which must outlive it. Linear time.
class MarkMacros {
 public:
  // `directive[i]`: token i lies in a preprocessor directive.
  MarkMacros(const TokenText& text, const std::vector<bool>& directive);
  FunctionMarks marks_of(std::string_view word) const;
  // nullptr if the word is no such macro of the text.
  const MarkMacro* find(std::string_view word) const;

 private:
  void read(const TokenText& text, size_t name, size_t end);
  std::map<std::string_view, MarkMacro> macros_;
};

// Attributes with arguments that stand between a function's marks and its name.
bool is_attribute_with_arguments(std::string_view word);

}  // namespace bicrl
