#include "sandbox/sanitizer_report.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "sandbox/box/box_host.h"
#include "sandbox/box/zygote.h"
#include "sandbox/device/entry_names.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kMark = "========= ";
constexpr size_t kMostKinds = 32;  // of reports that are kept
// Some wheels hold the first two alone, and nothing can be started with them.
constexpr std::array kParts = {"compute-sanitizer", "libsanitizer-collection.so", "TreeLauncherSubreaper"};

// A line of the tool's without its mark; nothing if it is another's.
std::optional<std::string_view> told(std::string_view line) {
  if (!line.starts_with(kMark)) return std::nullopt;
  return line.substr(kMark.size());
}

// Reports begin at the margin, and what belongs to them is indented. The rest at the margin is about the
// tool.
bool begins_report(std::string_view text) {
  if (text.empty() || text.front() == ' ') return false;
  for (const char* begin :
       {"COMPUTE-SANITIZER", "Program hit", "Saved host backtrace", "Target application returned"})
    if (text.starts_with(begin)) return false;
  return text.find("SUMMARY:") == std::string_view::npos;
}

// It could not do its work, whatever the summary says.
bool is_trouble(std::string_view text) {
  for (const char* begin : {"Target application terminated", "Target application doesn't",
                            "Error: process didn't", "Error: Target", "Error: No attachable", "Error: Could",
                            "Error: couldn't", "Error: Failed", "Error launching", "Internal Sanitizer",
                            "Internal error", "Unable to", "Process creation", "Out of memory"})
    if (text.starts_with(begin)) return true;
  return text.find("Device not supported") != std::string_view::npos;
}

// "at kernel(float*)+0x90" or "at kernel(float*)+0x90 in file:12"; of a race "... access at kernel+0x90".
std::string kernel_in(std::string_view text) {
  const size_t at = text.starts_with("at ") ? 0 : text.find(" at ");
  if (at == std::string_view::npos) return "";
  std::string_view name = text.substr(text.find("at ", at) + 3);
  const size_t end = std::min(name.find("+0x"), name.find(" in "));
  if (end == std::string_view::npos) return "";
  name = name.substr(0, end);
  return std::string(name.substr(0, name.find('(')));
}

std::string_view without_indent(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin);
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
  places.emplace_back("/usr/local/cuda/compute-sanitizer");
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

Result<std::vector<SanitizerFinding>> read_sanitizer_report(const std::string& tool, std::string_view text) {
  using Reply = Result<std::vector<SanitizerFinding>>;
  std::vector<SanitizerFinding> all;
  std::optional<SanitizerFinding> open;
  bool summed_up = false;
  const auto close = [&] {
    if (open) add(*open, all);
    open.reset();
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto line = told(text.substr(begin, end - begin));
    begin = end + 1;
    if (!line) continue;
    if (is_trouble(*line)) return Reply::failure(concat("compute-sanitizer ", tool, ": ", *line));
    summed_up = summed_up || line->find("SUMMARY:") != std::string_view::npos;
    if (begins_report(*line)) {
      close();
      open = SanitizerFinding{tool, std::string(*line), "", 1};
      // A race names its kernel at once, and where in it belongs to this one report.
      open->kernel = kernel_in(*line);
      if (!open->kernel.empty()) open->message = line->substr(0, line->find(" at "));
    } else if (open && open->kernel.empty() && line->starts_with(" ")) {
      open->kernel = kernel_in(without_indent(*line));
    } else if (!line->starts_with(" ")) {
      close();
    }
  }
  close();
  if (!summed_up)
    return Reply::failure(
        concat("compute-sanitizer ", tool, " says nothing: ", last_lines(std::string(text))));
  return Reply(std::move(all));
}

std::string sanitizer_text(const std::vector<SanitizerFinding>& findings) {
  std::string text;
  for (const SanitizerFinding& found : findings) {
    text += concat(text.empty() ? "" : "; ", found.tool, ": ", found.message);
    if (!found.kernel.empty()) text += concat(" in ", readable_name(found.kernel));
    if (found.count > 1) text += concat(" (", found.count, " times)");
  }
  return text;
}

}  // namespace bicrl
