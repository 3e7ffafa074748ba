#include "sandbox/frontend/split/splitter_host_use.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "common/config/one_of.h"
#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {
namespace {

using Names = std::set<std::string_view>;

// The first is what a program's diagnostics say; each costs a count of lines.
constexpr size_t kMostIssues = 16;

// CUDA Programming Guide: device code has no exceptions; a variable that is const may be read in device code
// if its value is a constant.
class HostUses {
 public:
  HostUses(const TokenText& text, const CodeStructure& structure, std::vector<SplitIssue>& issues)
      : t_(text), structure_(structure), issues_(issues) {}

  void find() {
    note_macros();
    for (const CodeItem& item : structure_.items()) note(item);
    for (const std::string_view name : device_) variables_.erase(name);
    // Of several functions of a name the call may mean the one that is allowed.
    for (const Names* others : std::initializer_list<const Names*>{&device_, &host_})
      for (const std::string_view name : *others) kernels_.erase(name);
    for (const CodeItem& item : structure_.items())
      if (item.kind == CodeItem::Kind::kFunction) look_into(item);
  }

 private:
  void note_macros() {
    for (size_t i = 0; i < t_.size(); ++i)
      if (structure_.in_directive(i) && t_.is(i, "define")) macros_.insert(t_.at(t_.next(i)));
  }

  // A word that may stand for an annotation: a macro of the text, or of a library.
  bool may_annotate(size_t i) const {
    const std::string_view word = t_.at(i);
    if (macros_.count(word)) return true;
    const bool upper = std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    return upper && word.size() > 2 && word.substr(0, 2) != "__";
  }

  bool has(const CodeItem& item, size_t end, std::initializer_list<std::string_view> words) const {
    for (size_t i = item.begin; i < end; i = t_.next(i))
      if (t_.is_identifier(i) && is_one_of(t_.at(i), words)) return true;
    return false;
  }

  // The `(` of a function's parameters: the first outside of template brackets and attributes.
  size_t parameters_of(const CodeItem& item) const {
    int angles = 0;
    for (size_t i = item.begin; i < item.end; i = t_.next(i)) {
      angles += t_.is(i, "<") ? 1 : t_.is(i, ">") ? -1 : 0;
      if (!t_.is(i, "(")) continue;
      const size_t name = t_.previous(i);
      const bool attribute =
          is_one_of(t_.at(name), {"__launch_bounds__", "__attribute__", "alignas", "decltype", "__align__"});
      if (angles <= 0 && !attribute && t_.is_identifier(name)) return i;
      i = structure_.partner(i);
    }
    return t_.size();
  }

  void note(const CodeItem& item) {
    if (item.kind == CodeItem::Kind::kFunction ||
        (item.kind == CodeItem::Kind::kDeclaration && item.has_parameters))
      return note_function(item);
    if (item.kind == CodeItem::Kind::kDeclaration) note_variable(item);
  }

  void note_function(const CodeItem& item) {
    const size_t open = parameters_of(item);
    if (open >= item.end) return;
    const size_t name = t_.previous(open);
    const std::string_view word = t_.at(name);
    if (is_one_of(word, {"if", "for", "while", "switch", "return"})) return;
    if (item.is_global) {
      kernels_.insert(word);
    } else {
      (item.is_device || item.is_constexpr ? device_ : host_).insert(word);
    }
  }

  void note_variable(const CodeItem& item) {
    if (item.is_constexpr || item.is_template || item.body != 0 ||
        has(item, item.end,
            {"using", "typedef", "namespace", "static_assert", "const", "friend", "struct", "class", "union",
             "enum", "extern", "operator", "constinit", "asm"}))
      return;
    size_t name = t_.size();
    int angles = 0, words = 0;
    for (size_t i = item.begin; i < item.end; i = t_.next(i)) {
      angles += t_.is(i, "<") ? 1 : t_.is(i, ">") ? -1 : 0;
      if (angles > 0) continue;
      if (t_.is(i, "=") || t_.is(i, ";") || t_.is(i, "[") || t_.is(i, "{") || t_.is(i, ",") || t_.is(i, "("))
        break;
      if (!t_.is_identifier(i)) continue;
      if (may_annotate(i) && words == 0) return;
      name = i;
      ++words;
    }
    if (name >= t_.size() || words < 2) return;
    (item.is_device ? device_ : variables_).insert(t_.at(name));
  }

  void look_into(const CodeItem& item) {
    const size_t open = parameters_of(item);
    if (open >= item.end || structure_.in_directive(item.begin)) return;
    const bool device = item.is_global || item.is_device;
    // A function for both sides may be meant for the host alone: nvcc warns.
    const bool both = has(item, open, {"__host__"});
    const size_t end = structure_.partner(item.body);
    const Names own = declared_in(open, end);
    for (size_t i = t_.next(item.body); i < end && reported_ < kMostIssues; i = t_.next(i)) {
      if (!t_.is_identifier(i) || structure_.in_directive(i)) continue;
      const std::string_view word = t_.at(i);
      const bool means_outer = is_use(i) && !own.count(word);
      const bool called = t_.is(t_.next(i), "(");
      if (called && kernels_.count(word) && means_outer)
        tell(i, "is a kernel, which is called without <<<...>>>");
      if (!device || both) continue;
      if (is_one_of(word, {"throw", "try"})) tell(i, "is no device code: it has no exceptions");
      if (!called && variables_.count(word) && means_outer)
        tell(i, "is a variable of the host, which device code cannot use (__device__ is missing)");
    }
  }

  // Not a member, a name of some namespace, or the operand of sizeof.
  bool is_use(size_t i) const {
    const size_t before = t_.previous(i);
    const bool scoped = t_.is(before, ":") && before > 0 && t_.is(before - 1, ":");
    const bool pointed = t_.is(before, ">") && before > 0 && t_.is(before - 1, "-");
    if (t_.is(before, ".") || scoped || pointed) return false;
    const size_t operand = t_.is(before, "(") ? t_.previous(before) : before;
    return !is_one_of(t_.at(operand), {"sizeof", "decltype", "alignof", "noexcept"});
  }

  // Parameters and variables of a function: names behind a type, or behind another.
  Names declared_in(size_t from, size_t to) const {
    Names found;
    int depth = 0;
    for (size_t i = from; i < to; i = t_.next(i)) {
      depth += t_.is(i, "(") ? 1 : t_.is(i, ")") ? -1 : 0;
      if (!t_.is_identifier(i)) continue;
      const size_t before = t_.previous(i);
      const bool behind_name =
          t_.is_identifier(before) &&
          !is_one_of(t_.at(before), {"return", "else", "do", "case", "throw", "and", "or", "not"});
      const bool behind_declarator = t_.is(before, "*") || t_.is(before, "&") || t_.is(before, ">") ||
                                     (depth == 0 && t_.is(before, ","));
      const size_t after = t_.next(i);
      const bool declares = t_.is(after, "=") || t_.is(after, ";") || t_.is(after, "[") ||
                            t_.is(after, ",") || t_.is(after, ")") || t_.is(after, "(") ||
                            t_.is(after, "{") || t_.is(after, ":");
      if (declares && (behind_name || (behind_declarator && !t_.is(after, "(")))) found.insert(t_.at(i));
    }
    return found;
  }

  void tell(size_t i, const char* reason) {
    ++reported_;
    issues_.push_back({FaultClass::kCompile, "'" + std::string(t_.at(i)) + "' " + reason, t_.line_of(i)});
  }

  const TokenText& t_;
  const CodeStructure& structure_;
  std::vector<SplitIssue>& issues_;
  Names macros_, variables_, device_, host_, kernels_;
  size_t reported_ = 0;
};

}  // namespace

void find_host_uses(const TokenText& source, const CodeStructure& structure,
                    std::vector<SplitIssue>& issues) {
  HostUses(source, structure, issues).find();
}

}  // namespace bicrl
