#include "sandbox/frontend/split/device_functions.h"

#include <algorithm>
#include <set>

#include "common/config/one_of.h"
#include "sandbox/frontend/split/splitter_tokens.h"

namespace bicrl {
namespace {

// Longest head of a function, in tokens. Keeps the search linear.
constexpr size_t kHeadReach = 2000;
constexpr size_t kMacroReach = 20000;

bool is_builtin_type(std::string_view word) {
  return is_one_of(word, {"void", "int", "unsigned", "signed", "float", "double", "char", "short", "long",
                          "bool", "auto"});
}
bool follows_parameters(std::string_view word) {
  return is_one_of(word, {"const", "volatile", "noexcept", "override", "final", "requires", "throw"});
}

class Finder {
 public:
  Finder(const TokenText& text, const CodeStructure& structure) : t_(text), structure_(structure) {}

  std::vector<DeviceFunction> run() {
    for (size_t i = 0; i < t_.size(); ++i) {
      if (!t_.is_identifier(i)) continue;
      const FunctionMarks marks = marks_of(i);
      if ((marks.global || marks.device) && !is_macro_name(i)) function(i);
    }
    return std::move(found_);
  }

 private:
  bool punctuation(size_t i, char c) const {
    return i < t_.size() && t_.tokens()[i].kind == Token::Kind::kPunctuation &&
           t_.text()[t_.tokens()[i].begin] == c;
  }
  // The next token of the same directive, or outside directives.
  size_t next(size_t i) const {
    const bool inside = structure_.in_directive(i);
    for (;;) {
      i = t_.next(i);
      if (i >= t_.size()) return t_.size();
      if (structure_.in_directive(i) == inside) return i;
      if (inside) return t_.size();
    }
  }
  size_t previous(size_t i) const {
    const bool inside = structure_.in_directive(i);
    i = t_.previous(i);
    return i < t_.size() && structure_.in_directive(i) == inside ? i : t_.size();
  }
  // Brackets in directives have no partner in the structure.
  size_t partner(size_t i) const {
    if (i >= t_.size()) return t_.size();
    return structure_.in_directive(i) ? t_.closing(i, kMacroReach) : structure_.partner(i);
  }
  size_t closing_angle(size_t i) const {
    int depth = 0;
    for (size_t n = 0; n < kHeadReach && i < t_.size(); ++n, i = next(i)) {
      if (punctuation(i, '(') || punctuation(i, '[') || punctuation(i, '{')) {
        i = partner(i);
        if (i >= t_.size()) return t_.size();
      } else if (punctuation(i, '<')) {
        ++depth;
      } else if (punctuation(i, '>') && --depth == 0) {
        return i;
      } else if (punctuation(i, ';') || punctuation(i, '}')) {
        return t_.size();
      }
    }
    return t_.size();
  }
  size_t opening_angle(size_t i) const {
    int depth = 0;
    for (size_t n = 0; n < kHeadReach && i < t_.size(); ++n, i = previous(i)) {
      if (punctuation(i, '>')) ++depth;
      if (punctuation(i, '<') && --depth == 0) return i;
      if (punctuation(i, ';') || punctuation(i, '{') || punctuation(i, '}')) return t_.size();
    }
    return t_.size();
  }

  FunctionMarks marks_of(size_t i) const { return structure_.marks_of(i); }
  bool is_macro_name(size_t i) const {
    const size_t before = t_.previous(i);
    return before < t_.size() && structure_.in_directive(i) &&
           is_one_of(t_.at(before), {"define", "undef", "ifdef", "ifndef", "defined"});
  }

  bool is_lambda(size_t mark) const {
    size_t before = previous(mark);
    for (int n = 0; n < 4 && t_.is_identifier(before); ++n) {
      const FunctionMarks marks = marks_of(before);
      if (!marks.host && !marks.device) return false;
      before = previous(before);
    }
    return punctuation(before, ']');
  }

  // From a mark to the function's name and parameters. False if it is something else.
  bool find_head(size_t mark, DeviceFunction& f, FunctionMarks& marks, bool& deduced) const {
    size_t i = next(mark);
    const MarkMacro* macro = structure_.mark_macro(mark);
    if (macro && macro->takes_arguments && punctuation(i, '(')) {
      const size_t close = partner(i);
      if (close >= t_.size()) return false;
      i = next(close);
      if (macro->has_parameters || punctuation(i, '(')) {
        // The name is the macro's business.
        f.close = close;
        if (!punctuation(i, '(')) return true;
        f.open = i;
        f.close = partner(i);
        return f.close < t_.size();
      }
    }
    for (size_t n = 0; n < kHeadReach && i < t_.size(); ++n, i = next(i)) {
      if (t_.is_identifier(i)) {
        const std::string_view word = t_.at(i);
        marks.merge(marks_of(i));
        if (word == "operator") return operator_head(i, f);
        const size_t after = next(i);
        if (is_attribute_with_arguments(word) && punctuation(after, '(')) {
          deduced |= word == "decltype" && t_.is(next(after), "auto");
          i = partner(after);
          if (i >= t_.size()) return false;
          continue;
        }
        deduced |= word == "auto";
        if (punctuation(after, '(')) {
          if (is_builtin_type(word)) return false;  // a pointer to a function
          const size_t close = partner(after);
          if (close >= t_.size()) return false;
          const size_t behind = next(close);
          if (t_.is_identifier(behind) && !follows_parameters(t_.at(behind))) {
            i = close;  // a macro with arguments among the marks
            continue;
          }
          f.name = i;
          f.open = after;
          f.close = close;
          return true;
        }
        if (punctuation(after, '<')) {
          const size_t close = closing_angle(after);
          if (close >= t_.size()) return false;
          if (punctuation(next(close), '(')) {
            f.name = i;
            f.is_specialization = true;
            f.open = next(close);
            f.close = partner(f.open);
            return f.close < t_.size();
          }
          i = close;
        }
      } else if (punctuation(i, '[')) {
        i = partner(i);
        if (i >= t_.size()) return false;
      } else if (punctuation(i, ';') || punctuation(i, '=') || punctuation(i, '{') || punctuation(i, '}') ||
                 punctuation(i, '(') || punctuation(i, ')')) {
        return false;
      }
    }
    return false;
  }

  bool operator_head(size_t word, DeviceFunction& f) const {
    f.name = word;
    size_t i = next(word);
    if (punctuation(i, '(') && punctuation(next(i), ')')) i = next(next(i));
    for (size_t n = 0; n < 64 && i < t_.size() && !punctuation(i, '('); ++n) {
      if (punctuation(i, ';') || punctuation(i, '{')) return false;
      i = next(i);
    }
    f.open = i;
    f.close = partner(i);
    return punctuation(i, '(') && f.close < t_.size();
  }

  // From behind the parameters to the body.
  void find_body(DeviceFunction& f, bool& trailing) const {
    bool initializers = false;
    size_t i = next(f.close);
    for (size_t n = 0; n < kHeadReach && i < t_.size(); ++n) {
      if (punctuation(i, '{')) {
        if (initializers && t_.is_identifier(previous(i))) {
          // member{value}
          i = partner(i);
          if (i >= t_.size()) return;
          i = next(i);
          continue;
        }
        f.body = i;
        f.body_end = partner(i);
        if (f.body_end >= t_.size()) f.body = f.body_end = DeviceFunction::npos;
        return;
      }
      if (punctuation(i, ';') || punctuation(i, '=') || punctuation(i, '}') || punctuation(i, ')')) return;
      if (t_.is(i, "try")) return;
      if (punctuation(i, ',') && !initializers) return;
      if (punctuation(i, '-') && punctuation(next(i), '>')) {
        trailing = true;
        i = next(i);
      } else if (punctuation(i, ':')) {
        if (punctuation(next(i), ':'))
          i = next(i);
        else
          initializers = true;
      } else if (punctuation(i, '(') || punctuation(i, '[')) {
        i = partner(i);
      } else if (punctuation(i, '<')) {
        i = closing_angle(i);
      }
      if (i >= t_.size()) return;
      i = next(i);
    }
  }

  // Marks, `auto` and the template head in front of the first mark.
  void look_back(size_t mark, DeviceFunction& f, FunctionMarks& marks, bool& deduced) const {
    size_t i = previous(mark);
    for (size_t n = 0; n < kHeadReach && i < t_.size(); ++n) {
      if (punctuation(i, ')')) {
        i = structure_.in_directive(i) ? t_.size() : partner(i);
        if (i >= t_.size()) return;
      }
      if (punctuation(i, ';') || punctuation(i, '{') || punctuation(i, '}') || punctuation(i, ',') ||
          (punctuation(i, ':') && !punctuation(previous(i), ':') && t_.is_identifier(previous(i)) &&
           is_one_of(t_.at(previous(i)), {"public", "private", "protected"})))
        return;
      if (punctuation(i, '>')) {
        const size_t open = opening_angle(i);
        if (open >= t_.size()) return;
        const size_t head = previous(open);
        if (t_.is(head, "template")) {
          f.template_begin = head;
          f.template_end = i;
          return;
        }
        i = open;
      } else if (t_.is_identifier(i)) {
        marks.merge(marks_of(i));
        deduced |= t_.is(i, "auto");
        if (t_.is(i, "define")) return;
      }
      i = previous(i);
    }
  }

  void function(size_t mark) {
    if (is_lambda(mark)) return;
    DeviceFunction f;
    FunctionMarks marks = marks_of(mark);
    bool deduced = false, trailing = false;
    if (!find_head(mark, f, marks, deduced)) return;
    find_body(f, trailing);
    const size_t key = f.body != DeviceFunction::npos ? f.body : f.close;
    if (!seen_.insert(key).second) return;
    look_back(mark, f, marks, deduced);
    f.is_kernel = marks.global;
    f.is_opaque = marks.global || (marks.device && !marks.host && !marks.evaluated && (!deduced || trailing));
    found_.push_back(f);
  }

  const TokenText& t_;
  const CodeStructure& structure_;
  std::set<size_t> seen_;
  std::vector<DeviceFunction> found_;
};

}  // namespace

std::vector<DeviceFunction> find_device_functions(const TokenText& text, const CodeStructure& structure) {
  return Finder(text, structure).run();
}

}  // namespace bicrl
