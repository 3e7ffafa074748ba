#include <sys/stat.h>
#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "common/error.h"
#include "common/files/files.h"
#include "common/files/gzip.h"
#include "common/hash.h"
#include "report/page/page.h"
#include "report/run_record.h"
#include "tests/report/run_writer.h"
#include "tests/support/support.h"

namespace bicrl::report {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

bool says(const RunRecord& run, const std::string& part) {
  return std::ranges::any_of(
      run.notices, [&](const std::string& notice) { return notice.find(part) != std::string::npos; });
}

// Two steps of two groups: task b is solved at the second step alone.
void write_small_run(const fs::path& folder) {
  RunWriter run(folder);
  for (int64_t step = 1; step <= 3; ++step) run.add_warm_up(step, 3, 7.0 / static_cast<double>(step));
  run.add_step("end_to_end", 1, 2,
               {{{.task = "a", .reward = 2, .advantage = 1, .speedup = 1.5, .text = "first"},
                 {.task = "a", .reward = 1.2, .advantage = -1, .speedup = 1.2, .text = "second"}},
                {{.task = "b", .reward = 0, .outcome = "race", .text = "third"},
                 {.task = "b", .reward = 0, .outcome = "compile", .text = "fourth"}}},
               {{"imitation_updates", 2}});
  run.add_step("end_to_end", 2, 2,
               {{{.task = "a", .reward = 3, .speedup = 2.5, .text = "fifth"}},
                {{.task = "b", .reward = 1, .speedup = 1.1, .text = "sixth", .is_repair = true}}});
  run.finish();
}

TEST_CASE("run directory reads back as it was written") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const RunRecord run = read_run(folder.path());
  CHECK(run.has_finished);
  CHECK(run.notices.empty());
  REQUIRE(run.steps.rows() == 5);
  REQUIRE(run.steps.phases.size() == 2);
  CHECK(run.steps.phases[1].begin == 3);
  CHECK(run.steps.row_of("end_to_end", 2) == 4);
  CHECK(std::isnan(run.steps.columns.at("reward_mean")[0]));
  CHECK(run.steps.columns.at("fault_classes.race")[3] == 1);
  CHECK(run.responses.responses.size() == 6);
  CHECK(run.responses.verdict_of(run.responses.responses[2]).outcome == "race");
  CHECK(run.kept.responses.at({3, 1, 1}).text == "fourth");
}

TEST_CASE("epoch of a warm-up is a curve, and the number of all is none") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const nlohmann::json step = {{"phase", "warm_up"}, {"step", 1}, {"steps", 2}, {"epoch", 1}, {"epochs", 2}};
  write_file_atomically(folder.path() / "metrics.jsonl", step.dump() + "\n");
  const RunRecord run = read_run(folder.path());
  CHECK(run.steps.columns.contains("epoch"));
  CHECK_FALSE(run.steps.columns.contains("epochs"));
}

TEST_CASE("notice counts steps whose groups taught nothing, those that kept them as well") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  const auto add_step = [&](int64_t step, const nlohmann::json& figures) {
    run.add_step("end_to_end", step, 3, {{{.task = "a", .reward = 1}}}, figures);
  };
  add_step(1, {{"dropped_groups", 0}, {"kept_groups", 1}, {"informative_groups", 0}});
  add_step(2, {{"dropped_groups", 0}, {"kept_groups", 0}, {"informative_groups", 1}});
  add_step(3, {{"dropped_groups", 1}});  // of a run before informative groups were counted
  CHECK(says(read_run(folder.path()), "In 2 of 3 steps no group taught anything"));
}

TEST_CASE("of several verdicts on a program the lowest rank's counts, and a later round changes nothing") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const std::string key = hash_hex({"end_to_end", "1", "1", "0"});
  const auto line = [&](int round, const char* fault) {
    return nlohmann::json(
               {{"key", key},
                {"round", round},
                {"verdict", {{"correct", false}, {"fault_class", fault}, {"outcome", "candidate_fault"}}}})
               .dump() +
           "\n";
  };
  RunWriter(folder.path()).append("ledger/rank-10.jsonl", line(0, "trap"));
  RunWriter(folder.path()).append("ledger/rank-0.jsonl", line(3, "timeout"));
  const auto outcome = [&] {
    const ResponseTable table = read_run(folder.path()).responses;
    return table.verdict_of(table.responses[2]).outcome;
  };
  CHECK(outcome() == "race");
  RunWriter(folder.path()).append("ledger/rank-1.jsonl", line(-1, "barrier"));
  CHECK(outcome() == "barrier");
}

TEST_CASE("undecided response is none of its fault class") {
  const auto outcome = [](const char* outcome) {
    return verdict_figures({{"outcome", outcome}, {"fault_class", "specialised"}}).outcome;
  };
  CHECK(outcome("undecided") == "undecided");
  CHECK(outcome("candidate_fault") == "specialised");
}

TEST_CASE("best kernels name the step at which each was found and how it came about") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.kernels.size() == 2);
  CHECK(run.kernels[0].task == "a");
  CHECK(run.kernels[0].found == ResponseKey{4, 0, 0});
  CHECK(run.kernels[0].lineage == "imitated");
  CHECK(run.kernels[0].correct == 3);
  CHECK(std::abs(run.kernels[0].speedup - 2.5) < 1e-9);
  CHECK(std::abs(run.kernels[0].first_speedup - 1.5) < 1e-9);
  CHECK(run.kernels[1].lineage == "repaired");
}

TEST_CASE("chosen groups hold the newest, the fastest, each fault and what moved") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.groups.size() == 4);
  const auto has = [&](int64_t row, int64_t group, const std::string& reason) {
    return std::ranges::any_of(run.groups, [&](const ChosenGroup& g) {
      return g.row == row && g.group == group && std::ranges::find(g.reasons, reason) != g.reasons.end();
    });
  };
  CHECK(has(4, 1, "newest"));
  CHECK(has(4, 0, "fastest kernel"));
  CHECK(has(3, 1, "fault: race"));
  CHECK(has(3, 1, "fault: compile"));
  CHECK(has(3, 0, "task improved most: before"));
  CHECK(has(4, 0, "task improved most: after"));
  CHECK(read_run(folder.path(), {.groups = 2, .kernels = 1}).groups.size() == 2);
}

TEST_CASE("group is chosen for no reason that does not hold") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  run.add_step("infilling", 1, 1, {{{.task = "a", .reward = 5}, {.task = "a", .reward = 5}}});
  for (int64_t step = 1; step <= 2; ++step)
    run.add_step("end_to_end", step, 2,
                 {{{.task = "a", .reward = 0.1, .outcome = "race"},
                   {.task = "a", .reward = 0.1, .outcome = "race"},
                   {.task = "a", .reward = 0.1, .outcome = "race"}}});
  std::set<std::string> reasons;
  for (const ChosenGroup& group : read_run(folder.path()).groups)
    reasons.insert(group.reasons.begin(), group.reasons.end());
  CHECK(reasons == std::set<std::string>{"newest", "fault: race", "lowest reward", "highest reward"});
}

TEST_CASE("half-written run gives what is there and says what is missing") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  for (const char* file : {"metrics.jsonl", "responses.jsonl"}) {
    const std::string whole = read_file(folder.path() / file);
    std::ofstream(folder.path() / file, std::ios::binary) << whole.substr(0, whole.size() - 20);
  }
  fs::resize_file(folder.path() / "texts/end_to_end-000001-rank-0.jsonl.gz", 120);
  const RunRecord run = read_run(folder.path());
  CHECK(run.steps.rows() == 4);
  CHECK(run.responses.responses.size() == 4);
  CHECK(says(run, "metrics.jsonl: its last line is half written"));
  CHECK(says(run, "responses.jsonl: its last line is half written"));
  CHECK(says(run, "Kept texts"));
}

TEST_CASE("damaged lines and bytes are counted and left out") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  RunWriter(folder.path())
      .append("metrics.jsonl", std::string("{\"phase\":\"end_to_end\",\"step\":\n\xff\x00\x01\n[]\n", 36) +
                                   "{\"phase\":3,\"step\":\"x\"}\n" + std::string(300, '[') + "\n");
  const RunRecord run = read_run(folder.path());
  CHECK(run.steps.rows() == 5);
  CHECK(says(run, "4 lines could not be read"));
  CHECK(says(run, "has not finished"));
}

TEST_CASE("run of another version is read, and the page says so") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  write_file_atomically(folder.path() / "run.json", R"({"format":99,"finished":true})");
  const RunRecord run = read_run(folder.path());
  CHECK(run.steps.rows() == 5);
  CHECK(says(run, "another version"));
  CHECK(says(run, "99"));
}

TEST_CASE("commit of the program that ran is a fact of the run, or said to be unknown") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  const auto commit_of = [&] {
    for (const auto& [name, value] : read_run(folder.path()).facts)
      if (name == "commit") return value;
    return std::string();
  };
  CHECK(commit_of() == "not recorded");
  write_file_atomically(
      folder.path() / "run.json",
      R"({"format":4,"finished":true,"program":{"version":"0.1.0","commit":"96ff9038abcd with changes"}})");
  CHECK(commit_of() == "96ff9038abcd with changes");
  CHECK_THAT(run_page({read_run(folder.path())}), ContainsSubstring("commit 96ff9038abcd with changes<"));
  write_file_atomically(folder.path() / "run.json", R"({"format":4,"program":["x"]})");
  CHECK(commit_of() == "not recorded");
}

TEST_CASE("a bench says that it is one") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  CHECK_FALSE(says(read_run(folder.path()), "is a bench"));
  write_file_atomically(folder.path() / "run.json", R"({"format":4,"finished":true,"bench":true})");
  CHECK(says(read_run(folder.path()), "is a bench"));
}

TEST_CASE("memory of the machine is shown in a unit of its size") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  write_file_atomically(folder.path() / "run.json",
                        R"({"format":4,"machine":{"memory":"24684096 kB","processor":"kB"}})");
  CHECK_THAT(run_page({read_run(folder.path())}), ContainsSubstring(">23.5 GiB<"));
}

TEST_CASE("empty folder and run without a step say so") {
  const testing::TemporaryFolder folder;
  fs::create_directories(folder.path() / "empty");
  CHECK(says(read_run(folder.path() / "empty"), "is empty"));
  fs::create_directories(folder.path() / "young");
  write_file_atomically(folder.path() / "young/run.json", "{}");
  CHECK(says(read_run(folder.path() / "young"), "No step has been recorded"));
}

TEST_CASE("folder that holds no run is refused") {
  const testing::TemporaryFolder folder;
  write_file_atomically(folder.path() / "letter.txt", "x");
  CHECK_THROWS_WITH(read_run(folder.path()), ContainsSubstring("is no run directory"));
  CHECK_THROWS_AS(read_run(folder.path() / "absent"), InputError);
  CHECK_THROWS_AS(read_run(folder.path() / "letter.txt"), InputError);
}

TEST_CASE("evaluation that the run has left behind is left out") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  const auto evaluate = [&](const std::string& name) {
    run.append("evaluations/" + name + ".jsonl", R"({"task_id":"a","verdict":"correct","correct":true})"
                                                 "\n");
  };
  const auto names = [&] {
    std::vector<std::string> found;
    for (const EvaluationEntry& entry : read_run(folder.path()).evaluations) found.push_back(entry.name);
    return found;
  };
  evaluate("start");
  for (int64_t step = 1; step <= 2; ++step) run.add_step("end_to_end", step, 2, {{{.task = "a"}}});
  for (const char* name : {"end_to_end-000001", "end_to_end-000003", "end_to_end"}) evaluate(name);
  CHECK(names() == std::vector<std::string>{"start", "end_to_end-000001", "end_to_end"});
  run.add_step("end_to_end", 3, 4, {{{.task = "a"}}});
  CHECK(names() == std::vector<std::string>{"start", "end_to_end-000001", "end_to_end-000003"});
  run.add_step("end_to_end", 4, 4, {{{.task = "a"}}});
  CHECK(names() == std::vector<std::string>{"start", "end_to_end-000001", "end_to_end-000003", "end_to_end"});
}

TEST_CASE("step that a resumed run took again counts as it was taken last") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  for (const double reward : {1.0, 2.0, 3.0})
    run.add_step("end_to_end", static_cast<int64_t>(reward), 4, {{{.task = "a", .reward = reward}}});
  run.add_step("end_to_end", 2, 4, {{{.task = "a", .reward = 7}}});
  const RunRecord read = read_run(folder.path());
  REQUIRE(read.steps.rows() == 2);
  CHECK(read.steps.columns.at("reward_mean")[1] == 7);
  REQUIRE(read.responses.responses.size() == 2);
  CHECK(read.responses.responses[1].reward == 7);
}

TEST_CASE("lineage of a kernel without a kept text is unknown") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  fs::remove(folder.path() / "texts/end_to_end-000002-rank-0.jsonl.gz");
  const RunRecord run = read_run(folder.path());
  REQUIRE(run.kernels.size() == 2);
  CHECK(run.kernels[0].lineage == "unknown");
  CHECK(run.kernels[1].lineage == "unknown");
}

TEST_CASE("text of a response that is not shown is left in its file") {
  const testing::TemporaryFolder folder;
  RunWriter run(folder.path());
  for (int64_t step = 1; step <= 40; ++step) {
    std::vector<std::vector<RunWriter::Response>> groups(
        2, {{.task = "a", .reward = static_cast<double>(step), .speedup = 1.5, .text = "text"}});
    if (step == 20) groups[0][0].outcome = "race";
    run.add_sample("end_to_end", step, 0, 0, groups[0][0]);
    for (auto& group : groups) group[0].text.clear();
    run.add_step("end_to_end", step, 40, groups);
  }
  const RunRecord read = read_run(folder.path(), {.groups = 6, .kernels = 0});
  REQUIRE(read.groups.size() >= 3);  // the newest, the fastest, the race
  CHECK(read.kept.responses.size() == read.groups.size());
  for (const ChosenGroup& group : read.groups) {
    CHECK(group.group == 0);  // of the others no text was kept
    CHECK(read.kept.responses.contains({group.row, 0, 0}));
  }
  CHECK(std::ranges::any_of(read.groups, [](const ChosenGroup& g) { return g.row == 19; }));
}

TEST_CASE("runs whose folders share a name are named by their parents too") {
  const testing::TemporaryFolder folder;
  std::vector<std::string> paths;
  for (const char* name : {"a/same/run", "b/same/run", "b/other"}) {
    write_small_run(folder.path() / name);
    paths.push_back((folder.path() / name).string());
  }
  const std::vector<RunRecord> runs = read_runs(paths);
  CHECK(runs[0].name == "a/same/run");
  CHECK(runs[1].name == "b/same/run");
  CHECK(runs[2].name == "other");
}

TEST_CASE("pipe in place of a file is left out") {
  const testing::TemporaryFolder folder;
  write_small_run(folder.path());
  fs::remove(folder.path() / "responses.jsonl");
  REQUIRE(mkfifo((folder.path() / "responses.jsonl").c_str(), 0600) == 0);
  CHECK(read_run(folder.path()).responses.responses.empty());
}

TEST_CASE("compressed file is read up to a limit") {
  const testing::TemporaryFolder folder;
  const std::string member = gzip("{}\n" + std::string(8 << 20, ' ') + "\n");
  std::string whole;
  for (int i = 0; i < 40; ++i) whole += member;
  write_file_atomically(folder.path() / "large.gz", whole);
  const LineCounts counts = for_each_object(folder.path() / "large.gz", [](const nlohmann::json&) {});
  CHECK(counts.is_too_large);
  CHECK(counts.entries >= 30);
  CHECK(counts.entries <= 33);
}

TEST_CASE("fault lines are lines of the program") {
  const std::string program =
      "import torch\n\nsource = \"\"\"\n#include <x>\nint a;\n\"\"\"\ncpp_src = \"\"\"\nint "
      "f();\n\"\"\"\nload(\n    cpp_sources=cpp_src,\n    cuda_sources=source,\n)\n";
  CHECK(fault_line(program, "cuda_sources:3:4: error: x") == 5);
  CHECK(fault_line(program, "cpp_sources:2:1: error: x") == 8);
  CHECK(fault_line(program, "SyntaxError: y (program.py, line 9)") == 9);
  CHECK(fault_line(program, "cuda_sources:99:1: error: x") == 0);
  CHECK(fault_line(program, "0 of 4 trials") == 0);
  const std::string alike =
      "cpp_source = \"\"\"\nint f();\n\"\"\"\n  source = \"\"\"\nint a;\n\"\"\"\n"
      "load(cpp_sources=cpp_source, cuda_sources=source)\n";
  CHECK(fault_line(alike, "cuda_sources:2:1: error: x") == 5);
  CHECK(fault_line(alike, "cpp_sources:2:1: error: x") == 2);
  CHECK(fault_line("no sources", "cuda_sources:3:4: error: x") == 0);
}

}  // namespace
}  // namespace bicrl::report
