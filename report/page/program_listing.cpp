#include "report/page/program_listing.h"

#include <algorithm>

#include "common/error.h"
#include "report/page/text_budget.h"

namespace bicrl::report {
namespace {

constexpr size_t kContextLines = 2;
constexpr size_t kFewestLeftOut = 5;
constexpr size_t kMostLines = 400;
constexpr size_t kLongestLine = 2000;  // bytes of markup

bool marks(const std::vector<bool>& flags, size_t line) { return line < flags.size() && flags[line]; }

// Which lines are shown: those that say something, and some around each.
std::vector<bool> shown_lines(const ProgramLines& program) {
  const size_t count = program.lines.size();
  std::vector<bool> shown(count, false);
  for (size_t i = 0; i < count; ++i) {
    const bool is_fault = program.fault_line == static_cast<int64_t>(i) + 1;
    if (!marks(program.differs, i) && !is_fault) continue;
    for (size_t near = i - std::min(i, kContextLines); near <= std::min(count - 1, i + kContextLines); ++near)
      shown[near] = true;
  }
  // A gap of a few lines is no shorter than its note.
  for (size_t i = 0; i < count;) {
    size_t end = i;
    while (end < count && !shown[end]) ++end;
    if (end - i < kFewestLeftOut)
      std::fill(shown.begin() + static_cast<ptrdiff_t>(i), shown.begin() + static_cast<ptrdiff_t>(end), true);
    i = std::max(end, i + 1);
  }
  return shown;
}

}  // namespace

Html program_listing(const ProgramLines& program, const std::string& label, bool is_shortened,
                     size_t most_bytes) {
  size_t count = std::min(program.lines.size(), kMostLines);
  const std::vector<bool> shown =
      is_shortened ? shown_lines(program) : std::vector<bool>(program.lines.size(), true);
  Html listing;
  for (size_t i = 0; i < count; ++i) {
    if (!shown[i]) {
      size_t end = i;
      while (end < count && !shown[end]) ++end;
      listing += element("span", {{"class", "gap"}}, text(concat("… ", end - i, " equal lines\n")));
      i = end - 1;
      continue;
    }
    const bool is_fault = program.fault_line == static_cast<int64_t>(i) + 1;
    std::string style = "line";
    if (!program.is_generated.empty()) style += marks(program.is_generated, i) ? " written" : " given";
    if (marks(program.differs, i)) style += " differs";
    if (is_fault) style += " fault";
    Attributes attributes = {{"class", style}, {"data-n", std::to_string(i + 1)}};
    if (is_fault) attributes.emplace_back("title", "the line that the diagnostics name");
    const Html line = element("span", attributes, text(cut_text(program.lines[i], kLongestLine) + "\n"));
    if (listing.markup().size() + line.markup().size() > most_bytes) {
      count = i;
      break;
    }
    listing += line;
  }
  if (count < program.lines.size())
    listing += element("span", {{"class", "gap"}},
                       text(concat("… ", program.lines.size() - count, " more lines\n")));
  return element("pre", {{"class", "code"}, {"tabindex", "0"}, {"aria-label", label}}, listing);
}

}  // namespace bicrl::report
