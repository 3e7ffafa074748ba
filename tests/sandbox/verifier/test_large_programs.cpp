// Programs of our own for problems of KernelBench's level 1 at their published sizes (tests/large): in
// ordinary style, specialised to their size, and incorrect ones. The problems are published data, and skipped
// without.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "tests/sandbox/service/service_support.h"
#include "tests/sandbox/verifier/corpus.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using nlohmann::json;
using testing::CorpusEntry;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  INFO(from);
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  for (; at != text.npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

const std::filesystem::path& folder() {
  static const std::filesystem::path path = std::filesystem::path(BICRL_SOURCE_DIR) / "tests" / "large";
  return path;
}

std::map<std::string, std::string> published_problems() {
  std::map<std::string, std::string> problems;
  for (const json& problem : json::parse(read_file(testing::published_file("kernelbench_level1.json"))))
    problems[std::to_string(problem.at("problem_id").get<int>())] = problem.at("pytorch_code");
  return problems;
}

// A family's text for one of its problems, changed before its values are filled in.
std::string program(const json& family, const std::string& problem, const json& changes) {
  std::string text = read_file(folder() / (family.at("family").get<std::string>() + ".py"));
  for (const json& change : changes) text = replaced(text, change.at(0), change.at(1));
  json values = family.at("defaults");
  values.update(family.at("problems").at(problem));
  for (const auto& [name, value] : values.items())
    text = replaced(text, "@" + name + "@", value.get<std::string>());
  return text;
}

CorpusEntry entry(const json& family, const std::string& problem, const std::string& code, const json& kind) {
  CorpusEntry made;
  made.name =
      problem + " " + family.at("family").get<std::string>() + " " + kind.at("name").get<std::string>();
  made.classes = kind.at("class");
  made.request = {.request_id = made.name,
                  .task_id = "level_1_problem_" + problem,
                  .pytorch_code = code,
                  .program = program(family, problem, kind.at("changes")),
                  .protocol = kDefaultProtocol};
  return made;
}

std::vector<CorpusEntry> hostile_entries() {
  const auto problems = published_problems();
  const json families = json::parse(read_file(folder() / "programs.json"));
  std::vector<CorpusEntry> entries;
  for (const json& hostile : json::parse(read_file(folder() / "hostile.json")))
    for (const json& family : families)
      if (family.at("family") == hostile.at("family"))
        entries.push_back(entry(family, hostile.at("problem"), problems.at(hostile.at("problem")), hostile));
  return entries;
}

enum class Kind { kOrdinary, kSpecialised, kNeighbours };

std::vector<CorpusEntry> entries_of(Kind kind) {
  const auto problems = published_problems();
  const json ordinary{{"name", "ordinary"}, {"class", "correct"}, {"changes", json::array()}};
  std::vector<CorpusEntry> entries;
  for (const json& family : json::parse(read_file(folder() / "programs.json")))
    for (const auto& [problem, values] : family.at("problems").items()) {
      const std::string& code = problems.at(problem);
      if (kind == Kind::kOrdinary) entries.push_back(entry(family, problem, code, ordinary));
      if (kind == Kind::kSpecialised)
        entries.push_back(entry(family, problem, code, family.at("specialised")));
      if (kind == Kind::kNeighbours)
        for (const json& neighbour : family.at("neighbours"))
          entries.push_back(entry(family, problem, code, neighbour));
    }
  return entries;
}

// What is wrong at the own size alone is not seen at reduced ones: such a program is graded correct, and its
// class says so: "unseen", or "unseen_paid" if it has the time of a correct program as well.
bool as_expected(const CorpusEntry& entry, const Verdict& verdict) {
  if (entry.expects("unseen") || entry.expects("unseen_paid")) return verdict.correct;
  return entry.expects(verdict.correct ? "correct" : verdict.fault_class);
}

std::vector<Verdict> check(std::vector<CorpusEntry> entries, size_t least) {
  CHECK(entries.size() >= least);
  if (const char* only = getenv("BICRL_CORPUS"))  // programs whose names hold this
    std::erase_if(entries, [&](const CorpusEntry& e) { return e.name.find(only) == std::string::npos; });
  std::vector<Verdict> verdicts(entries.size());
  testing::for_each_entry(
      entries, 2, [&](size_t k, Pipeline& pipeline) { verdicts[k] = pipeline.verify(entries[k].request); });
  for (size_t i = 0; i < entries.size(); ++i) {
    const Verdict& v = verdicts[i];
    if (getenv("BICRL_PRINT_CORPUS"))
      printf("%s %s: %s | %.1e lane operations | %s | %.0f ms (compile %.0f, record %.0f, run %.0f)\n",
             as_expected(entries[i], v) ? "ok  " : "BAD ", entries[i].name.c_str(),
             v.correct ? "correct" : v.fault_class.c_str(), double(v.lane_operations),
             v.diagnostics.substr(0, 300).c_str(), v.total_ms, v.compile_ms, v.record_ms, v.run_ms);
    INFO(entries[i].name << ": expected " << entries[i].classes << ", got " << v.fault_class << ": "
                         << v.diagnostics);
    CHECK(as_expected(entries[i], v));
    CHECK((v.graded_at == kReducedSize || !v.correct));
  }
  return verdicts;
}

}  // namespace

TEST_CASE("programs in ordinary style are graded correct at reduced sizes") {
  check(entries_of(Kind::kOrdinary), 60);
}

TEST_CASE("programs that refuse all sizes but their own are specialised") {
  check(entries_of(Kind::kSpecialised), 60);
}

TEST_CASE("incorrect neighbours are refused unless only their own size shows it") {
  check(entries_of(Kind::kNeighbours), 180);
}

// A program that does other work at its own size alone is not seen. It has no time, or that of what it does
// at reduced sizes, and gains nothing.
TEST_CASE("programs that look at sizes are refused or gain no speed") {
  auto entries = hostile_entries();
  for (CorpusEntry& entry : entries) entry.request.protocol.measure_time = true;
  const auto verdicts = check(entries, 30);
  if (getenv("BICRL_CORPUS")) return;
  std::map<std::string, Verdict> ordinary;
  for (size_t i = 0; i < entries.size(); ++i) {
    INFO(entries[i].name << ": " << verdicts[i].diagnostics);
    if (!entries[i].expects("unseen_paid")) {
      CHECK(verdicts[i].candidate_ms == 0);
      continue;
    }
    const std::string& task = entries[i].request.task_id;
    for (const CorpusEntry& known : entries_of(Kind::kOrdinary))
      if (known.request.task_id == task && !ordinary.contains(task)) {
        VerificationRequest request = known.request;
        request.protocol.measure_time = true;
        ordinary[task] = testing::pipeline().verify(request);
      }
    CHECK(verdicts[i].costed_at == kReducedSize);
    CHECK(ordinary.at(task).candidate_ms > 0);
    CHECK(verdicts[i].candidate_ms > 0.8 * ordinary.at(task).candidate_ms);
  }
}

}  // namespace bicrl
