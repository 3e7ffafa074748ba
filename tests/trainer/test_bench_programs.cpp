// Programs that stand in a bench for those of responses.
#include "tests/trainer/collecting_rank.h"
#include "trainer/experience/bench_programs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "common/files/atomic_file.h"
#include "common/files/files.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("bench programs are the same of half a group, and every task has some", "[bench_programs]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "programs.json";
  write_file_atomically(path, R"({"a": ["p0", "p1", "p2", "p3", "p4"], "b": ["q"], "c": []})");
  const BenchPrograms programs = BenchPrograms::from_file(path);
  std::vector<std::string> group;
  for (int64_t sample = 0; sample < 8; ++sample) group.push_back(programs.of("a", sample, 8));
  CHECK(group == std::vector<std::string>{"p0", "p1", "p2", "p3", "p0", "p1", "p2", "p3"});
  CHECK(programs.of("b", 7, 8) == "q");
  CHECK(programs.of("a", 0, 1) == "p0");
  CHECK_THROWS_WITH(programs.of("c", 0, 8), ContainsSubstring("no program for task c"));
  Task known, unknown;
  known.id = "b";
  unknown.id = "d";
  CHECK(bench_programs(BenchSettings{}, {unknown}) == nullptr);
  BenchSettings settings;
  settings.programs = path;
  CHECK(bench_programs(settings, {known})->of("b", 0, 2) == "q");
  CHECK_THROWS_WITH(bench_programs(settings, {known, unknown}),
                    ContainsSubstring("no program for task d") && ContainsSubstring("programs.json"));
  write_file_atomically(path, R"({"a": "p"})");
  CHECK_THROWS_WITH(BenchPrograms::from_file(path), ContainsSubstring("bench.programs"));
}

TEST_CASE("bench keys are refused without programs", "[bench_programs]") {
  const auto read = [](const std::string& yaml) {
    const ConfigDocument document = ConfigDocument::from_text(yaml, "x.yaml");
    const BenchSettings settings = BenchSettings::from_config(document.root().section("bench"), ".");
    document.finish();
    return settings;
  };
  CHECK_FALSE(read("").is_enabled());
  CHECK_THROWS_WITH(read("bench: {median_tokens: 30}"), ContainsSubstring("without 'programs'"));
  CHECK_THROWS_WITH(read("bench: {programs: /nowhere/p.json}"), ContainsSubstring("/nowhere/p.json"));
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "p.json", "{}");
  const BenchSettings settings =
      read(concat("bench: {programs: ", (folder.path() / "p.json").string(), ", steps_per_block: 3}"));
  CHECK(settings.is_enabled());
  CHECK(settings.drawn.median_tokens == 1000);
  CHECK(settings.drawn.steps_per_block == 3);
}

TEST_CASE("bench programs are what is verified, on any number of ranks", "[bench_programs]") {
  const std::vector<Task> tasks = five_tasks();
  nlohmann::json file;
  for (const Task& task : tasks)
    for (int i = 0; i < 4; ++i) file[task.id].push_back(concat("program ", i, " of ", task.id));
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "p.json", file.dump());
  const BenchPrograms programs = BenchPrograms::from_file(folder.path() / "p.json");
  SingleProcessControl alone;
  Rank rank(alone, folder, {});
  ResponseCollector responses(rank.engine, rank.settings, rank.verifier, &programs);
  std::vector<PromptedGroup> groups;
  for (size_t i = 0; i < tasks.size(); ++i)
    groups.push_back(
        {.index = static_cast<int64_t>(i),
         .task = &tasks[i],
         .prompt = make_prompt(tasks[i], Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp)});
  for (const Episode& episode : responses.collect(groups, 4, 7, 0).episodes) {
    const std::string& program = programs.of(episode.task_id, episode.key.sample, 4);
    CHECK(episode.last().program == program);
    CHECK(episode.last().verdict_key == rank.ledger.key_of(*episode.task, program));
    CHECK(episode.last().rollout.text != program);  // what the policy wrote stays with the response
  }
}
