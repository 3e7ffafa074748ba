#include "curation/code/model_class.h"

#include <optional>
#include <string_view>

#include "common/error.h"

namespace bicrl::curation {
namespace {

constexpr const char* kBlanks = " \t\r\n";
// Of a class Model behind one of another name: it takes what is published.
constexpr const char* kConstructor =
    "    def __init__(self, arguments=(), keywords=None):\n"
    "        super().__init__(*arguments, **(keywords or {}))\n";

bool is_one_of(std::string_view characters, char c) { return characters.find(c) != characters.npos; }

// The place behind the bracket that closes the one at `begin`; npos if none does.
size_t behind_bracket(const std::string& text, size_t begin) {
  int depth = 0;
  char quote = '\0';
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = '\0';
    } else if (is_one_of("'\"", c)) {
      quote = c;
    } else if (is_one_of("([{", c)) {
      ++depth;
    } else if (is_one_of(")]}", c) && --depth == 0) {
      return i + 1;
    }
  }
  return text.npos;
}

// Of "[[positional...], {name: value}]" the list or the mapping; nothing of another expression.
std::optional<std::string> unpacked(const std::string& text) {
  const auto next = [&](size_t at) { return text.find_first_not_of(kBlanks, at); };
  const auto is = [&](size_t at, char c) { return at < text.size() && text[at] == c; };
  const size_t list = next(1);
  if (!is(0, '[') || !is(list, '[')) return std::nullopt;
  const size_t list_end = behind_bracket(text, list), comma = next(list_end);
  const size_t mapping = is(comma, ',') ? next(comma + 1) : text.npos;
  if (!is(mapping, '{')) return std::nullopt;
  const size_t mapping_end = behind_bracket(text, mapping);
  if (next(mapping_end) != text.size() - 1 || text.back() != ']') return std::nullopt;
  const bool is_mapping_empty = next(mapping + 1) == mapping_end - 1;
  if (!is_mapping_empty && next(list + 1) != list_end - 1)
    throw InputError(
        "get_init_inputs() returns positional and named arguments, and a task's are of one kind");
  return is_mapping_empty ? text.substr(list, list_end - list) : text.substr(mapping, mapping_end - mapping);
}

// The place behind a function at module level: that of the next line that is not indented.
size_t behind_function(const std::string& code, size_t begin) {
  for (size_t line = code.find('\n', begin + 1); line != code.npos; line = code.find('\n', line + 1))
    if (line + 1 < code.size() && !is_one_of(kBlanks, code[line + 1])) return line;
  return code.size();
}

std::string with_unpacked_arguments(const std::string& code) {
  const size_t function = code.rfind("\ndef get_init_inputs(");
  if (function == code.npos) return code;
  const size_t end = behind_function(code, function), result = code.rfind("return ", end);
  if (result == code.npos || result < function) return code;
  const size_t begin = code.find_first_not_of(kBlanks, result + 7);
  const size_t last = code.find_last_not_of(kBlanks, end - 1);
  if (begin > last) return code;
  const auto arguments = unpacked(code.substr(begin, last - begin + 1));
  return arguments ? concat(code.substr(0, begin), *arguments, code.substr(last + 1)) : code;
}

}  // namespace

std::string with_model_class(const std::string& code, const std::string& entry_point) {
  const auto has = [&](const std::string& text) { return code.find(text) != code.npos; };
  if (entry_point == "Model") return has(kConstructor) ? code : with_unpacked_arguments(code);
  if (has(concat("class Model(", entry_point, ")"))) return code;
  if (has("class Model(") || has("class Model:"))
    throw InputError(concat("the code has a class Model beside its entry point '", entry_point, "'"));
  if (!has("class " + entry_point))
    throw InputError(
        concat("the code has no class '", entry_point, "', which is said to be its entry point"));
  return concat(code, code.ends_with('\n') ? "" : "\n", "\n\nclass Model(", entry_point, "):\n",
                kConstructor);
}

}  // namespace bicrl::curation
