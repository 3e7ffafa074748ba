#include "sandbox/frontend/device/code_structure.h"

#include <algorithm>

#include "common/config/one_of.h"

namespace bicrl {
namespace {

// Longest list of template parameters, in tokens. Without a bound, lists that never end would be read again
// and again.
constexpr size_t kReach = 600;

}  // namespace

CodeStructure::CodeStructure(const TokenText& text)
    : t_(text), partners_(text.size(), static_cast<uint32_t>(text.size())), directive_(text.size(), false) {
  find_directives();
  marks_.emplace(t_, directive_);
  match_brackets();
  find_items();
}

void CodeStructure::find_directives() {
  bool line_start = true, inside = false;
  for (size_t i = 0; i < t_.size(); ++i) {
    const Token& token = t_.tokens()[i];
    if (token.kind == Token::Kind::kSpace) {
      if (!ends_line(t_.at(i))) continue;
      line_start = true;
      inside = false;
      continue;
    }
    if (token.kind == Token::Kind::kInclude || (line_start && t_.is(i, "#"))) inside = true;
    directive_[i] = inside;
    if (token.kind != Token::Kind::kComment) line_start = false;
  }
}

void CodeStructure::match_brackets() {
  std::vector<uint32_t> open;
  // Of the alternatives of an #if, each begins with the brackets that were open before it; what an
  // alternative beyond the first leaves open is forgotten.
  std::vector<size_t> bases = {0};
  std::vector<bool> alternative = {false};
  for (size_t i = 0; i < t_.size(); ++i) {
    if (t_.tokens()[i].kind != Token::Kind::kPunctuation) continue;
    const char c = t_.text()[t_.tokens()[i].begin];
    if (directive_[i]) {
      if (c != '#') continue;
      const std::string_view word = t_.next(i) < t_.size() ? t_.at(t_.next(i)) : std::string_view();
      if (is_one_of(word, {"if", "ifdef", "ifndef"})) {
        bases.push_back(bases.back());
        alternative.push_back(alternative.back());
      } else if (is_one_of(word, {"else", "elif"}) && bases.size() > 1) {
        if (alternative.back() && bases.back() < open.size()) open.resize(bases.back());
        bases.back() = open.size();
        alternative.back() = true;
      } else if (word == "endif" && bases.size() > 1) {
        if (alternative.back() && bases.back() < open.size()) open.resize(bases.back());
        bases.pop_back();
        alternative.pop_back();
      }
      continue;
    }
    if (c == '(' || c == '[' || c == '{') open.push_back(static_cast<uint32_t>(i));
    if (c != ')' && c != ']' && c != '}') continue;
    // A bracket that does not fit closes nothing; a brace closes what was left open inside it.
    const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
    const size_t base = bases.back();
    const auto fits = [&](size_t n) { return t_.text()[t_.tokens()[open[n]].begin] == wanted; };
    if (open.size() > base && !fits(open.size() - 1) && c == '}')
      while (open.size() > base && !fits(open.size() - 1)) open.pop_back();
    if (open.size() <= base || !fits(open.size() - 1)) continue;
    partners_[i] = open.back();
    partners_[open.back()] = static_cast<uint32_t>(i);
    open.pop_back();
  }
}

size_t CodeStructure::next(size_t i) const {
  do i = t_.next(i);
  while (i < t_.size() && directive_[i]);
  return i;
}

// DEVICE(float) name(...): the bracket at i is a macro's that says where the function runs, and not its name.
bool CodeStructure::is_marks_with_arguments(size_t open) const {
  const MarkMacro* macro = marks_->find(t_.at(t_.previous(open)));
  return macro && macro->takes_arguments && t_.is_identifier(next(partners_[open]));
}

size_t CodeStructure::skip_angles(size_t open, size_t end) const {
  int depth = 0;
  size_t steps = 0;
  for (size_t i = open; i < end && ++steps < kReach; i = next(i)) {
    if (t_.is(i, "(") || t_.is(i, "[") || t_.is(i, "{")) {
      if (partners_[i] >= end) return end;
      i = partners_[i];
    } else if (t_.is(i, "<")) {
      ++depth;
    } else if (t_.is(i, ">") && --depth == 0) {
      return i;
    } else if (t_.is(i, ";")) {
      return end;
    }
  }
  return end;
}

bool CodeStructure::is_type_head(size_t begin, size_t brace) const {
  bool type = false;
  for (size_t i = begin; i < brace; i = next(i)) {
    if (t_.is(i, "template") && t_.is(next(i), "<")) {
      i = skip_angles(next(i), brace);
      continue;
    }
    if (t_.is(i, "(")) {
      if (!is_attribute_with_arguments(t_.at(t_.previous(i)))) return false;
      i = std::min<size_t>(partners_[i], brace);
    } else if (t_.is_identifier(i)) {
      type |= is_one_of(t_.at(i), {"class", "struct", "union", "enum"});
    }
  }
  return type;
}

CodeItem CodeStructure::read_item(size_t begin, size_t end) const {
  CodeItem item;
  item.begin = begin;
  bool assigned = false;
  const size_t first_next = next(begin);
  for (size_t i = begin; i < end; i = next(i)) {
    item.end = i + 1;
    if (t_.is_identifier(i)) {
      const std::string_view word = t_.at(i);
      const FunctionMarks marks = marks_of(i);
      if (!item.has_parameters && !assigned) {
        item.is_global |= marks.global;
        item.is_constexpr |= marks.evaluated;
      }
      item.is_device |= marks.device || is_one_of(word, {"__constant__", "__shared__", "__managed__"});
      if (word == "template" && t_.is(next(i), "<")) {
        item.is_template = true;
        i = skip_angles(next(i), end);
        if (i >= end) break;
      }
      continue;
    }
    if (t_.is(i, ";")) return item;
    if (t_.is(i, "=")) assigned = true;
    if (t_.is(i, "(") || t_.is(i, "[")) {
      if (partners_[i] >= end) break;
      if (t_.is(i, "(") && is_marks_with_arguments(i)) {
        i = partners_[i];
        item.end = i + 1;
        continue;
      }
      if (t_.is(i, "(") && !assigned && !is_attribute_with_arguments(t_.at(t_.previous(i))))
        item.has_parameters = true;
      const bool call = t_.is(i, "(") && i == first_next && t_.is_identifier(begin);
      i = partners_[i];
      item.end = i + 1;
      if (!call) continue;
      const size_t after = next(i);
      if (after >= end || t_.is_identifier(after) || t_.is(after, "#") || t_.is(after, "}")) {
        item.kind = CodeItem::Kind::kMacroCall;
        return item;
      }
    }
    if (!t_.is(i, "{")) continue;
    if (item.body == 0) item.body = i;
    const size_t close = partners_[i];
    if (close >= end) break;
    item.end = close + 1;
    if (!assigned && is_type_head(begin, item.body)) {
      item.kind = CodeItem::Kind::kType;
    } else if (!assigned && item.has_parameters) {
      item.kind = CodeItem::Kind::kFunction;
      const size_t after = next(close);
      if (after < end && t_.is(after, "catch")) {
        i = close;
        continue;
      }
      return item;
    }
    i = close;
  }
  item.end = std::max(item.end, std::min(end, begin + 1));
  return item;
}

void CodeStructure::find_items() {
  std::vector<size_t> closes;  // of the scopes that are open
  size_t i = 0;
  while (i < t_.size()) {
    const Token::Kind kind = t_.tokens()[i].kind;
    if (kind == Token::Kind::kSpace || kind == Token::Kind::kComment) {
      ++i;
      continue;
    }
    CodeItem item;
    item.begin = i;
    if (directive_[i]) {
      item.kind = CodeItem::Kind::kDirective;
      while (i < t_.size() &&
             (directive_[i] || (t_.tokens()[i].kind == Token::Kind::kSpace && !ends_line(t_.at(i)))))
        ++i;
      item.end = i;
      items_.push_back(item);
      continue;
    }
    if (!closes.empty() && i == closes.back()) {
      closes.pop_back();
      item.kind = CodeItem::Kind::kScopeClose;
      item.end = ++i;
      items_.push_back(item);
      continue;
    }
    const size_t end = closes.empty() ? t_.size() : closes.back();
    size_t brace = t_.size();
    if (t_.is(i, "namespace") || (t_.is(i, "inline") && t_.is(next(i), "namespace"))) {
      for (brace = next(i); brace < end && !t_.is(brace, "{") && !t_.is(brace, ";") && !t_.is(brace, "=");)
        brace = next(brace);
    } else if (t_.is(i, "extern") && next(i) < t_.size() &&
               t_.tokens()[next(i)].kind == Token::Kind::kLiteral) {
      brace = next(next(i));
    }
    if (brace < end && t_.is(brace, "{") && partners_[brace] < t_.size()) {
      closes.push_back(partners_[brace]);
      item.kind = CodeItem::Kind::kScopeOpen;
      item.end = i = brace + 1;
      items_.push_back(item);
      continue;
    }
    item = read_item(i, end);
    i = item.end;
    items_.push_back(item);
  }
}

}  // namespace bicrl
