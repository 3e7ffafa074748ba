#include "curation/code/program_scaffold.h"

#include <cctype>
#include <string_view>
#include <vector>

namespace bicrl::curation {
namespace {

struct Statement {
  size_t begin = 0, end = 0;
  std::string_view text;  // between the quotes
};

// The length of `NAME = ` or `NAME = r` at the beginning of `line`; 0 if it begins otherwise.
size_t assignment_length(std::string_view line) {
  size_t at = 0;
  while (at < line.size() && (std::isalnum(static_cast<unsigned char>(line[at])) || line[at] == '_')) ++at;
  if (at == 0) return 0;
  while (at < line.size() && line[at] == ' ') ++at;
  if (at == line.size() || line[at] != '=') return 0;
  ++at;
  while (at < line.size() && line[at] == ' ') ++at;
  if (at < line.size() && line[at] == 'r') ++at;
  return at;
}

std::vector<Statement> assigned_texts(std::string_view program) {
  std::vector<Statement> found;
  for (size_t line = 0; line < program.size();) {
    const size_t opening = line + assignment_length(program.substr(line));
    const std::string_view quotes = program.substr(std::min(opening, program.size()), 3);
    if (opening > line && (quotes == "\"\"\"" || quotes == "'''")) {
      const size_t closing = program.find(quotes, opening + 3);
      if (closing == program.npos) return found;
      found.push_back({line, closing + 3, program.substr(opening + 3, closing - opening - 3)});
      line = closing + 3;
    }
    const size_t next = program.find('\n', line);
    if (next == program.npos) return found;
    line = next + 1;
  }
  return found;
}

}  // namespace

std::optional<ProgramScaffold> cut_program(const std::string& program) {
  const std::vector<Statement> texts = assigned_texts(program);
  for (const char* mark : {"__global__", "<<<", "#include"})
    for (const Statement& statement : texts)
      if (statement.text.find(mark) != statement.text.npos)
        return ProgramScaffold{program.substr(0, statement.begin),
                               program.substr(statement.begin, statement.end - statement.begin),
                               program.substr(statement.end)};
  return std::nullopt;
}

}  // namespace bicrl::curation
