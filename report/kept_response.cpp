#include "report/kept_response.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/error.h"
#include "common/json.h"

namespace bicrl::report {
namespace {

constexpr double kSectorBytes = 32;
constexpr size_t kMostKernels = 12;
constexpr size_t kLongestText = 64 << 10;

std::vector<std::pair<std::string, double>> terms_of(const nlohmann::json& line) {
  std::vector<std::pair<std::string, double>> terms;
  const auto found = line.find("terms");
  if (found == line.end() || !found->is_object()) return terms;
  for (const auto& [name, value] : found->items())
    if (value.is_number()) terms.emplace_back(name, value.get<double>());
  return terms;
}

KeptResponse kept_response(const nlohmann::json& line) {
  KeptResponse response;
  response.prompt = text_or(line, "prompt");
  response.text = text_or(line, "text");
  response.is_repair = flag_or(line, "repair", false);
  response.terms = terms_of(line);
  const auto verdict = line.find("verdict");
  response.verdict = verdict_figures(verdict == line.end() ? nlohmann::json() : *verdict);
  if (!response.verdict.is_correct && flag_or(line, "truncated", false) &&
      response.verdict.outcome == kNoVerdict)
    response.verdict.outcome = kTruncated;
  if (verdict != line.end()) {
    response.diagnostics = text_or(*verdict, "diagnostics");
    response.kernels = kernel_counters(text_or(*verdict, "counters"));
  }
  if (const auto denoising = line.find("denoising"); denoising != line.end()) {
    try {
      response.denoising = denoising_record_from_json(*denoising);
    } catch (const InputError&) {  // of another version: the response has none
    }
  }
  for (std::string* text : {&response.prompt, &response.text, &response.diagnostics})
    if (text->size() > kLongestText) text->resize(kLongestText);
  return response;
}

// "infilling-000002-rank-1.jsonl.gz"; -1 if it is no such name.
int64_t row_of_file(const std::string& name, const StepTable& steps) {
  const size_t rank = name.rfind("-rank-");
  if (rank == std::string::npos || !name.ends_with(".jsonl.gz")) return -1;
  const size_t dash = name.rfind('-', rank - 1);
  if (rank == 0 || dash == std::string::npos) return -1;
  const std::string digits = name.substr(dash + 1, rank - dash - 1);
  if (digits.empty() || digits.size() > 15 || digits.find_first_not_of("0123456789") != digits.npos)
    return -1;
  return steps.row_of(name.substr(0, dash), std::stoll(digits));
}

ResponseKey key_of(const nlohmann::json& line, int64_t row) {
  const auto number = [&](const char* key) {
    return static_cast<int64_t>(std::clamp(number_or(line, key, 0), 0.0, 1e9));
  };
  return {row, number("group"), number("sample")};
}

int64_t row_of_line(const nlohmann::json& line, const StepTable& steps) {
  return steps.row_of(text_or(line, "phase"),
                      static_cast<int64_t>(std::clamp(number_or(line, "step", 0), 0.0, 1e15)));
}

void take(const nlohmann::json& line, int64_t row, const ShownResponses& shown, KeptResponses& kept) {
  const ResponseKey key = key_of(line, row);
  if (row < 0 || !shown.has(key)) return;
  KeptResponse response = kept_response(line);
  if (!response.text.empty()) kept.responses.insert_or_assign(key, std::move(response));
}

// The files of texts/ by the rows of their steps.
std::vector<std::pair<int64_t, std::filesystem::path>> text_files(const std::filesystem::path& run,
                                                                  const StepTable& steps) {
  std::error_code failure;
  std::vector<std::pair<int64_t, std::filesystem::path>> files;
  for (const auto& entry : std::filesystem::directory_iterator(run / "texts", failure))
    if (const int64_t row = row_of_file(entry.path().filename().string(), steps); row >= 0)
      files.emplace_back(row, entry.path());
  std::ranges::sort(files);
  return files;
}

int64_t line_number(const std::string& text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n');
}

int64_t number_at(const std::string& text, size_t at) {
  int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value < 1'000'000; ++at)
    value = 10 * value + (text[at] - '0');
  return value;
}

// Where a line assigns to `name`, and no longer name that ends with it; npos if none does.
size_t assignment_of(const std::string& program, const std::string& name) {
  const std::string assignment = name + " = ";
  size_t at = program.find(assignment);
  for (; at != std::string::npos; at = program.find(assignment, at + 1)) {
    const size_t before = program.find_last_not_of(" \t", at - 1);
    if (at == 0 || before == std::string::npos || program[before] == '\n') break;
  }
  return at;
}

// The line on which the string begins that the program hands over as `argument`.
int64_t string_begin(const std::string& program, const std::string& argument) {
  const size_t use = program.find(argument + "=");
  if (use == std::string::npos) return 0;
  size_t begin = use + argument.size() + 1;
  while (begin < program.size() && (program[begin] == '[' || program[begin] == ' ')) ++begin;
  size_t end = begin;
  while (end < program.size() && (isalnum(static_cast<unsigned char>(program[end])) || program[end] == '_'))
    ++end;
  if (end == begin) return line_number(program, begin);
  const size_t definition = assignment_of(program, program.substr(begin, end - begin));
  return definition == std::string::npos ? 0 : line_number(program, definition);
}

}  // namespace

std::vector<KernelCounters> kernel_counters(const std::string& counters) {
  std::vector<KernelCounters> kernels;
  const auto parsed = try_parse_json(counters.empty() ? "null" : counters);
  if (!parsed || !parsed.value().is_object()) return kernels;
  const auto listed = parsed.value().find("listed");
  if (listed == parsed.value().end() || !listed->is_array()) return kernels;
  for (const nlohmann::json& launch : *listed) {
    if (kernels.size() == kMostKernels) break;
    kernels.push_back({.name = text_or(launch, "name", text_or(launch, "kind")),
                       .blocks = number_or(launch, "blocks", 0),
                       .threads_per_block = number_or(launch, "threads_per_block", 0),
                       .registers_per_thread = number_or(launch, "registers_per_thread", 0),
                       .shared_bytes_per_block = number_or(launch, "shared_bytes_per_block", 0),
                       .loaded_bytes = kSectorBytes * number_or(launch, "load_sectors", 0),
                       .stored_bytes = kSectorBytes * number_or(launch, "store_sectors", 0),
                       .instructions = number_or(launch, "executed", 0)});
  }
  return kernels;
}

int64_t fault_line(const std::string& program, const std::string& diagnostics) {
  constexpr std::string_view kOfProgram = "(program.py, line ";
  if (const size_t at = diagnostics.find(kOfProgram); at != std::string::npos)
    return number_at(diagnostics, at + kOfProgram.size());
  for (const char* argument : {"cuda_sources", "cpp_sources"}) {
    const std::string place = std::string(argument) + ":";
    const size_t at = diagnostics.find(place);
    const int64_t begin = at == std::string::npos ? 0 : string_begin(program, argument);
    if (begin == 0) continue;
    const int64_t line = begin + number_at(diagnostics, at + place.size()) - 1;
    if (line >= 1 && line <= line_number(program, program.size())) return line;
  }
  return 0;
}

KeptPlaces kept_places(const std::filesystem::path& run, const StepTable& steps) {
  KeptPlaces places;
  for (const auto& [row, file] : text_files(run, steps)) places.rows.insert(row);
  for_each_object(run / "samples.jsonl", [&](const nlohmann::json& line) {
    const int64_t row = row_of_line(line, steps);
    const auto text = line.find("text");
    if (row >= 0 && text != line.end() && text->is_string() && !text->get_ref<const std::string&>().empty())
      places.responses.insert(key_of(line, row));
  });
  return places;
}

KeptResponses read_kept_responses(const std::filesystem::path& run, const StepTable& steps,
                                  const ShownResponses& shown) {
  KeptResponses kept;
  kept.lines = for_each_object(run / "samples.jsonl", [&](const nlohmann::json& line) {
    take(line, row_of_line(line, steps), shown, kept);
  });
  std::set<int64_t> rows;
  for (const auto& [row, group] : shown.groups) rows.insert(row);
  for (const ResponseKey& key : shown.responses) rows.insert(key.row);
  for (const auto& [row, file] : text_files(run, steps))
    if (rows.contains(row))
      kept.lines.add(for_each_object(
          file, [&, row = row](const nlohmann::json& line) { take(line, row, shown, kept); }));
  return kept;
}

}  // namespace bicrl::report
