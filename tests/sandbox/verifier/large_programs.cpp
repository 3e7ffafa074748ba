#include "tests/sandbox/verifier/large_programs.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl::testing {
namespace {

using nlohmann::json;

const std::filesystem::path& folder() {
  static const std::filesystem::path path = bicrl::testing::source_path("tests/large");
  return path;
}

std::map<std::string, std::string> published_problems() {
  std::map<std::string, std::string> problems;
  for (const json& problem : json::parse(read_file(published_file("kernelbench_level1.json"))))
    problems[std::to_string(problem.at("problem_id").get<int>())] = problem.at("pytorch_code");
  return problems;
}

// A family's text for one of its problems, changed before its values are filled in.
std::string program(const json& family, const std::string& problem, const json& changes) {
  std::string text = read_file(folder() / (family.at("family").get<std::string>() + ".py"));
  for (const json& change : changes) text = testing::replaced(text, change.at(0), change.at(1));
  json values = family.at("defaults");
  values.update(family.at("problems").at(problem));
  for (const auto& [name, value] : values.items())
    text = testing::replaced(text, "@" + name + "@", value.get<std::string>());
  return text;
}

CorpusEntry entry(const json& family, const std::string& problem, const std::string& code, const json& kind) {
  CorpusEntry made;
  made.name =
      problem + " " + family.at("family").get<std::string>() + " " + kind.at("name").get<std::string>();
  made.classes = kind.at("class");
  // Of some problems the own size is not large enough to show it.
  for (const json& other : kind.value("harmless", json::array()))
    if (other == problem) made.classes += "|correct";
  made.request = {.request_id = made.name,
                  .task_id = "level_1_problem_" + problem,
                  .pytorch_code = code,
                  .program = program(family, problem, kind.at("changes")),
                  .protocol = kDefaultProtocol};
  return made;
}

CorpusEntry ordinary_entry(const json& family, const std::string& problem, const std::string& code) {
  const json timed = family.value("timed", json::array());
  const bool has_time = std::ranges::find(timed, json(problem)) != timed.end();
  return entry(
      family, problem, code,
      {{"name", "ordinary"}, {"class", has_time ? "correct|timed" : "correct"}, {"changes", json::array()}});
}

}  // namespace

std::vector<CorpusEntry> hostile_large_entries() {
  const auto problems = published_problems();
  const json families = json::parse(read_file(folder() / "programs.json"));
  std::vector<CorpusEntry> entries;
  for (const json& hostile : json::parse(read_file(folder() / "hostile.json")))
    for (const json& family : families)
      if (family.at("family") == hostile.at("family"))
        entries.push_back(entry(family, hostile.at("problem"), problems.at(hostile.at("problem")), hostile));
  return entries;
}

std::vector<CorpusEntry> large_entries(LargeKind kind) {
  const auto problems = published_problems();
  std::vector<CorpusEntry> entries;
  for (const json& family : json::parse(read_file(folder() / "programs.json")))
    for (const auto& [problem, values] : family.at("problems").items()) {
      const std::string& code = problems.at(problem);
      if (kind == LargeKind::kOrdinary) entries.push_back(ordinary_entry(family, problem, code));
      if (kind == LargeKind::kSpecialised)
        entries.push_back(entry(family, problem, code, family.at("specialised")));
      if (kind == LargeKind::kNeighbours)
        for (const json& neighbour : family.at("neighbours"))
          entries.push_back(entry(family, problem, code, neighbour));
    }
  return entries;
}

}  // namespace bicrl::testing
