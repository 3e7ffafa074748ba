#include "trainer/evaluation/kernelbench_programs.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "common/json.h"
#include "tasks/task_entry.h"

namespace bicrl {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

// Each non-empty line's value, with the line's number; throws where one is no JSON object.
template <typename Use>
void for_each_line(std::string_view text, const std::string& name, const Use& use) {
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto value = try_parse_json(line);
    if (!value) throw InputError(concat(name, ":", number, ": is not JSON: ", value.reason()));
    if (!value.value().is_object()) throw InputError(concat(name, ":", number, ": is no JSON object"));
    use(number, value.value());
  }
}

KernelBenchTask problem_of(const json& entry, const std::string& where) {
  auto parsed = parse_task_entry(entry);
  if (const auto* error = std::get_if<FieldError>(&parsed))
    throw InputError(concat(where, ": ", error->field, error->field.empty() ? "" : ": ", error->reason));
  if (detect_task_form(entry) != TaskForm::kKernelBench)
    throw InputError(concat(where, ": is no problem of KernelBench: it has no problem_id"));
  return {{entry.at("problem_id").get<int64_t>(), entry.at("name").get<std::string>()},
          std::get<Task>(std::move(parsed))};
}

void add_problems(const fs::path& file, int64_t level, std::vector<KernelBenchTask>& problems) {
  const std::string text = read_file(file);
  const auto take = [&](int64_t number, const json& entry) {
    KernelBenchTask problem = problem_of(entry, concat(file.string(), ": entry ", number));
    if (problem.task.level == level) problems.push_back(std::move(problem));
  };
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos || text[start] != '[') return for_each_line(text, file.string(), take);
  const auto list = try_parse_json(text);
  if (!list) throw InputError(concat(file.string(), ": is not JSON: ", list.reason()));
  int64_t number = 0;
  for (const json& entry : list.value()) take(++number, entry);
}

int64_t number_in(const std::ssub_match& digits, const fs::path& file) {
  if (digits.length() > 9)
    throw InputError(concat(file.string(), ": its name has a number that is too large"));
  return std::stoll(digits.str());
}

std::vector<KernelBenchProgram> programs_in(const fs::path& folder,
                                            const std::vector<KernelBenchTask>& problems) {
  static const std::regex form(R"(level_(\d+)_problem_(\d+)_sample_(\d+)_kernel\.py)");
  std::vector<KernelBenchProgram> programs;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    std::smatch parts;
    if (!std::regex_match(name, parts, form)) continue;
    const int64_t level = number_in(parts[1], entry.path()), number = number_in(parts[2], entry.path());
    for (size_t i = 0; i < problems.size(); ++i)
      if (problems[i].task.level == level && problems[i].problem.number == number)
        programs.push_back({i, number_in(parts[3], entry.path()), read_file(entry.path())});
  }
  return programs;
}

std::vector<KernelBenchProgram> in_order(std::vector<KernelBenchProgram> programs, const std::string& name,
                                         const std::vector<KernelBenchTask>& problems) {
  if (programs.empty())
    throw InputError(concat(name, ": holds no program for the ", problems.size(), " problems, such as ",
                            problems.front().task.id));
  const auto place = [](const KernelBenchProgram& p) { return std::pair(p.problem, p.sample); };
  std::ranges::stable_sort(programs, {}, place);
  const auto twice = std::ranges::adjacent_find(programs, {}, place);
  if (twice != programs.end())
    throw InputError(
        concat(name, ": has sample ", twice->sample, " of ", problems[twice->problem].task.id, " twice"));
  return programs;
}

}  // namespace

std::vector<KernelBenchTask> load_kernelbench(const std::vector<fs::path>& files, int64_t level) {
  std::vector<KernelBenchTask> problems;
  for (const fs::path& file : files) add_problems(file, level, problems);
  if (problems.empty()) throw InputError(concat("no task file has a problem of level ", level));
  std::ranges::stable_sort(problems, {}, [](const KernelBenchTask& p) { return p.problem.number; });
  std::set<std::string> names;
  for (size_t i = 0; i < problems.size(); ++i) {
    const KernelBenchProblem& problem = problems[i].problem;
    if (i > 0 && problem.number == problems[i - 1].problem.number)
      throw InputError(concat("the task files have problem ", problem.number, " of level ", level, " twice"));
    if (!names.insert(problem.name).second)
      throw InputError(concat("the task files have the name '", problem.name, "' twice"));
  }
  return problems;
}

std::vector<KernelBenchProgram> load_programs(const fs::path& path,
                                              const std::vector<KernelBenchTask>& problems) {
  if (!fs::is_directory(path)) return parse_programs(read_file(path), path.string(), problems);
  return in_order(programs_in(path, problems), path.string(), problems);
}

std::vector<KernelBenchProgram> parse_programs(std::string_view lines, const std::string& name,
                                               const std::vector<KernelBenchTask>& problems) {
  std::map<std::string, size_t> place_of;
  for (size_t i = 0; i < problems.size(); ++i) place_of[problems[i].task.id] = i;
  std::vector<KernelBenchProgram> programs;
  std::vector<int64_t> counted(problems.size());
  for_each_line(lines, name, [&](int64_t number, const json& line) {
    const auto text = [&](const char* key) {
      const auto found = line.find(key);
      if (found == line.end() || !found->is_string())
        throw InputError(concat(name, ":", number, ": ", key, ": must be a text"));
      return found->get<std::string>();
    };
    const auto place = place_of.find(text("task_id"));
    KernelBenchProgram program{.problem = 0, .sample = 0, .program = text("program")};
    if (place == place_of.end()) return;
    program.problem = place->second;
    program.sample = counted[program.problem]++;
    if (const auto sample = line.find("sample"); sample != line.end()) {
      if (!sample->is_number_unsigned() || *sample > 1'000'000'000)
        throw InputError(concat(name, ":", number, ": sample: must be a number from 0 on"));
      program.sample = sample->get<int64_t>();
    }
    programs.push_back(std::move(program));
  });
  return in_order(std::move(programs), name, problems);
}

}  // namespace bicrl
