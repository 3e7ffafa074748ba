#include "sandbox/gpu/sanitizer_report.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <optional>

#include "common/error.h"
#include "common/files/last_lines.h"
#include "sandbox/box/box_host.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = "========= ";
constexpr size_t kMostKinds = 32;  // of reports that are kept
// Some wheels hold the first two alone, and nothing can be started with them.
constexpr std::array kParts = {"compute-sanitizer", "libsanitizer-collection.so", "TreeLauncherSubreaper"};

// A line of the tool's without its mark; nothing if it is another's.
std::optional<std::string_view> without_mark(std::string_view line) {
  if (!line.starts_with(kMark)) return std::nullopt;
  return line.substr(kMark.size());
}

enum class Kind {
  kFinding,
  kTrouble,  // the tool could not do its work, or not all of it, whatever its summary says
  kNothing   // about itself, or about a call of the driver's
};

bool begins(std::string_view text, std::initializer_list<const char*> with) {
  return std::ranges::any_of(with, [&](const char* begin) { return text.starts_with(begin); });
}

// What stands behind "Error: ", "WARNING: " and the like; nothing if there is none.
std::optional<std::string_view> behind_severity(std::string_view text) {
  for (const std::string_view severity : {"Error", "ERROR", "Warning", "WARNING", "Info", "INFO"})
    if (text.starts_with(severity) && text.size() > severity.size() + 1 &&
        (text[severity.size()] == ':' || text[severity.size()] == ' '))
      return text.substr(text.find_first_not_of(": ", severity.size()));
  return std::nullopt;
}

// Of a line at the margin; what belongs to it is indented.
Kind kind_of(std::string_view text) {
  if (text.find("SUMMARY:") != std::string_view::npos ||
      begins(text, {"COMPUTE-SANITIZER", "Program hit", "Saved host backtrace", "Host API"}))
    return Kind::kNothing;
  if (const auto message = behind_severity(text))
    return begins(*message, {"Race reported", "Potential", "(Warp Level"}) ? Kind::kFinding : Kind::kTrouble;
  if (begins(text, {"Target application", "Target app", "Internal", "Unable to", "Process creation",
                    "Out of memory", "No attachable", "Device not supported"}))
    return Kind::kTrouble;
  return Kind::kFinding;
}

// "at kernel(float*)+0x90 in file:12" or "... access at kernel+0x90"; empty where none is named.
std::string kernel_in(std::string_view text) {
  const size_t end = text.find("+0x");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end);
  const size_t at = text.rfind(" at ");
  if (at == std::string_view::npos && !text.starts_with("at ")) return "";
  text = text.substr(at == std::string_view::npos ? 3 : at + 4);
  return std::string(text.substr(0, text.find('(')));
}

// Without the places, which differ from thread to thread.
std::string message_in(std::string_view text) {
  for (const char* place : {" starting at ", " detected at ", " at "})
    text = text.substr(0, text.find(place));
  return std::string(text);
}

std::string_view without_indent(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
}

// Of an indented line: where it was, and what the other access of a race was.
void add_detail(std::string_view detail, SanitizerFinding& finding) {
  if (finding.kernel.empty()) finding.kernel = kernel_in(detail);
  if (!begins(detail, {"and Read access", "and Write access"})) return;
  const std::string other = message_in(detail);
  if (!finding.message.ends_with(other)) finding.message += " " + other;
}

void add(const SanitizerFinding& found, std::vector<SanitizerFinding>& all) {
  const auto same = std::ranges::find_if(all, [&](const SanitizerFinding& other) {
    return other.message == found.message && other.kernel == found.kernel;
  });
  if (same != all.end())
    ++same->count;
  else if (all.size() < kMostKinds)
    all.push_back(found);
}

}  // namespace

fs::path find_sanitizer() {
  std::vector<fs::path> places;
  if (const char* home = getenv("CUDA_HOME")) places.push_back(fs::path(home) / "compute-sanitizer");
  std::error_code none;
  if (const std::string program = find_program("compute-sanitizer"); !program.empty()) {
    // bin/ holds a script, beside the folder with the program.
    const fs::path folder = fs::canonical(program, none).parent_path();
    places.push_back(folder);
    places.push_back(folder.parent_path() / "compute-sanitizer");
  }
  for (const char* usual : {"/usr/local/cuda", "/usr/lib/nvidia-cuda-toolkit"})
    places.push_back(fs::path(usual) / "compute-sanitizer");
  const auto is_whole = [&](const fs::path& place) {
    return std::ranges::all_of(kParts, [&](const char* part) { return fs::exists(place / part, none); });
  };
  const auto found = std::ranges::find_if(places, is_whole);
  return found == places.end() ? fs::path() : fs::canonical(*found, none);
}

std::string no_sanitizer() {
  return "there is no compute-sanitizer on this machine ($CUDA_HOME, PATH, /usr/local/cuda): install CUDA's "
         "package cuda-sanitizer";
}

SanitizerReport read_sanitizer_report(const std::string& tool, std::string_view text) {
  SanitizerReport report;
  std::optional<SanitizerFinding> open;
  bool summed_up = false;
  const auto close = [&] {
    if (open) add(*open, report.findings);
    open.reset();
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = without_mark(text.substr(begin, end - begin));
    begin = end + 1;
    if (!line) continue;
    if (line->starts_with(' ')) {
      if (open) add_detail(without_indent(*line), *open);
      continue;
    }
    close();
    if (line->empty()) continue;
    summed_up = summed_up || line->find("SUMMARY:") != std::string_view::npos;
    const Kind kind = kind_of(*line);
    if (kind == Kind::kFinding) open = SanitizerFinding{tool, message_in(*line), kernel_in(*line), 1};
    if (kind == Kind::kTrouble && report.problem.empty()) report.problem = *line;
  }
  close();
  if (!summed_up && report.problem.empty())
    report.problem = concat("says nothing ", last_lines(std::string(text)));
  return report;
}

std::string sanitizer_text(const std::vector<SanitizerFinding>& findings) {
  std::string text;
  for (const SanitizerFinding& found : findings) {
    text += concat(text.empty() ? "" : "; ", found.tool, ": ", found.message);
    if (!found.kernel.empty()) text += concat(" in ", readable_name(found.kernel));
    if (found.count > 1) text += concat(" (", found.count, " reports)");
  }
  return text;
}

}  // namespace bicrl
