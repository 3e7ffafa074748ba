#include "sandbox/frontend/split/splitter_bodies.h"

#include <string_view>

#include "common/config/one_of.h"

namespace bicrl {
namespace {

bool names_untyped_launch(const TokenText& t) {
  for (size_t i = 0; i < t.size(); ++i)
    if (t.is_identifier(i) &&
        is_one_of(t.at(i), {"cudaLaunchKernel", "cudaLaunchCooperativeKernel", "cudaLaunchKernelExC"}))
      return true;
  return false;
}

}  // namespace

BodyCutter::BodyCutter(const TokenText& text, const CodeStructure& structure, TextEdits& edits)
    : t_(text),
      structure_(structure),
      walk_(text),
      edits_(edits),
      untyped_launches_(names_untyped_launch(text)),
      cut_(text.size(), false) {}

void BodyCutter::cut(const DeviceFunction& f) {
  const bool in_macro = structure_.in_directive(f.body);
  if (!in_macro && !has_whole_directives(f.body + 1, f.body_end)) return;
  if (!f.is_kernel) {
    edits_.insert(walk_.end(f.body), " __builtin_trap(); ");
  } else if (untyped_launches_ && f.open != DeviceFunction::npos) {
    edits_.insert(walk_.end(f.body),
                  " ::bicrl::describe<void(" + walk_.parameters_text(f.open, f.close) + ")>(); ");
  }
  size_t from = f.body + 1;
  for (size_t i = from; i < f.body_end;) {
    if (in_macro || !structure_.in_directive(i)) {
      cut_[i++] = true;
      continue;
    }
    const bool pragma = t_.is(t_.next(i), "pragma");
    const size_t after = behind_directive(i, f.body_end);
    if (!pragma) {
      blank(from, i, in_macro);
      from = after;
    }
    i = after;
  }
  blank(from, f.body_end, in_macro);
}

// Directives in the body that do not come in pairs tie it to text outside.
bool BodyCutter::has_whole_directives(size_t from, size_t to) const {
  int depth = 0;
  for (size_t i = from; i < to; ++i) {
    if (!structure_.in_directive(i) || !walk_.punctuation(i, '#')) continue;
    const std::string_view word = t_.next(i) < to ? t_.at(t_.next(i)) : std::string_view();
    if (is_one_of(word, {"if", "ifdef", "ifndef"})) ++depth;
    if (is_one_of(word, {"else", "elif"}) && depth == 0) return false;
    if (word == "endif" && --depth < 0) return false;
  }
  return depth == 0;
}

// Of the directive that begins at i.
size_t BodyCutter::behind_directive(size_t i, size_t limit) const {
  for (;;) {
    const size_t following = t_.next(i);
    if (following >= limit || !structure_.in_directive(following)) return i + 1;
    for (uint32_t at = walk_.end(i); at < walk_.begin(following); ++at)
      if (t_.text()[at] == '\n' && t_.text()[at - 1] != '\\' && t_.text()[at - 1] != '\r') return i + 1;
    i = following;
  }
}

void BodyCutter::blank(size_t from, size_t to, bool in_macro, const std::string& instead) {
  if (from >= to) return;
  std::string text = instead;
  for (uint32_t at = walk_.begin(from); at < walk_.end(to - 1); ++at)
    if (t_.text()[at] == '\n') text += in_macro ? "\\\n" : "\n";
  edits_.replace(walk_.begin(from), walk_.end(to - 1), text);
}

}  // namespace bicrl
