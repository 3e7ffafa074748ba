#include "sandbox/frontend/device/mark_macros.h"

#include <algorithm>

#include "common/config/one_of.h"

namespace bicrl {
namespace {

constexpr size_t kMacroReach = 20000;
// Macros that stand for macros which are defined behind them; each pass finds one more step.
constexpr int kPasses = 3;

}  // namespace

bool is_attribute_with_arguments(std::string_view word) {
  return is_one_of(word, {"__launch_bounds__", "__attribute__", "__align__", "alignas", "decltype",
                          "noexcept", "__maxnreg__", "__cluster_dims__", "__block_size__", "explicit",
                          "requires", "C10_LAUNCH_BOUNDS_1", "C10_LAUNCH_BOUNDS_2", "__declspec"});
}

MarkMacros::MarkMacros(const TokenText& t, const std::vector<bool>& directive) {
  for (int pass = 0; pass < kPasses; ++pass) {
    for (size_t i = 0; i < t.size(); ++i) {
      if (!directive[i] || !t.is(i, "#") || !t.is(t.next(i), "define")) continue;
      const size_t name = t.next(t.next(i));
      if (!t.is_identifier(name) || !directive[name]) continue;
      size_t end = name;
      while (end < t.size() && !(t.tokens()[end].kind == Token::Kind::kSpace && ends_line(t.at(end)))) ++end;
      read(t, name, end);
      i = std::max(i, end - 1);
    }
  }
}

void MarkMacros::read(const TokenText& t, size_t name, size_t end) {
  const auto opens = [&](size_t i) { return i < end && t.is(i, "("); };
  MarkMacro macro;
  size_t i = name + 1;  // a bracket right behind the name opens the macro's parameters
  if (opens(i)) {
    macro.takes_arguments = true;
    i = std::min(t.closing(i, kMacroReach), end);
  }
  for (; i < end; ++i) {
    if (t.is(i, "{")) return;
    if (t.is_identifier(i)) {
      macro.marks.merge(marks_of(t.at(i)));
      if (is_attribute_with_arguments(t.at(i)) && opens(t.next(i)))
        i = std::min(t.closing(t.next(i), kMacroReach), end);
    } else if (opens(i)) {
      macro.has_parameters = true;
    }
  }
  const FunctionMarks& m = macro.marks;
  if (!m.global && !m.device && !m.host && !m.evaluated) return;
  MarkMacro& known = macros_[t.at(name)];
  macro.marks.merge(known.marks);
  known = macro;
}

FunctionMarks MarkMacros::marks_of(std::string_view word) const {
  FunctionMarks marks;
  const bool both = is_one_of(word, {"C10_HOST_DEVICE", "_CCCL_HOST_DEVICE", "_CCCL_API"});
  marks.global = word == "__global__";
  marks.device = both || is_one_of(word, {"__device__", "C10_DEVICE", "_CCCL_DEVICE", "_CCCL_DEVICE_API"});
  marks.host = both || is_one_of(word, {"__host__", "C10_HOST", "_CCCL_HOST"});
  marks.evaluated = is_one_of(word, {"constexpr", "consteval"});
  if (const MarkMacro* macro = find(word)) marks.merge(macro->marks);
  return marks;
}

const MarkMacro* MarkMacros::find(std::string_view word) const {
  const auto macro = macros_.find(word);
  return macro == macros_.end() ? nullptr : &macro->second;
}

}  // namespace bicrl
