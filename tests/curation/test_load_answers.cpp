// Step load: what policies and runs answered, with the code of the tasks from their files.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "common/files/files.h"
#include "common/files/gzip.h"
#include "tests/curation/fake_services.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using testing::TemporaryFolder;

const std::string kAnswer = "class ModelNew: pass\n";

// A response of a run to the task, with its verdict.
std::string episode(const std::string& task, const std::string& phase = "end_to_end") {
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = verdict.compiled = true;
  return nlohmann::json({{"task", task},
                         {"sample", 0},
                         {"phase", phase},
                         {"step", 4},
                         {"reward", 0.5},
                         {"text", "```python\n" + kAnswer + "```"},
                         {"verdict", to_json(verdict)}})
             .dump() +
         "\n";
}

// Tasks "0" and "1" whose code names the file.
void write_two_tasks(const fs::path& file) {
  fs::create_directories(file.parent_path());
  nlohmann::json tasks = nlohmann::json::array();
  for (int i = 0; i < 2; ++i)
    tasks.push_back({{"idx", i},
                     {"level", 1},
                     {"pytorch_code", module_named(concat("# ", i, " of ", file.parent_path().filename()))}});
  write_file_atomically(file, tasks.dump());
}

// What `load` makes of the files, given as lists in YAML.
std::vector<Record> loaded(const fs::path& folder, const std::string& files, const std::string& tasks) {
  FakeServices services;
  fs::remove_all(folder / "out");
  run_pipeline(concat("curation: {directory: ", (folder / "out").string(),
                      "}\nsteps:\n  - {step: load, source: s, files: ", files, ", tasks: ", tasks, "}\n"),
               services);
  std::vector<Record> records;
  for (const std::string& line : lines_of(folder / "out/records/01-load.jsonl"))
    records.push_back(record_from_line(line));
  return records;
}

TEST_CASE("answers of a run name their tasks behind the names of the tasks' files") {
  const TemporaryFolder folder;
  const auto in = [&](const std::string& name) { return (folder.path() / name).string(); };
  for (const char* set : {"one", "two"}) write_two_tasks(in(concat(set, "/train.json")));
  write_file_atomically(in("answers.jsonl"), episode("one/train:1") + episode("two/train:1"));
  const std::string files = concat("[", in("answers.jsonl"), "]"),
                    both = concat("[", in("one/train.json"), ", ", in("two/train.json"), "]"),
                    one = concat("[", in("one/train.json"), "]");
  const auto records = loaded(folder.path(), files, both);
  REQUIRE(records.size() == 2);
  CHECK(records[0].task_id == "s:one/train:1");
  CHECK_THAT(records[0].pytorch_code, ContainsSubstring("# 1 of \"one\""));
  CHECK_THAT(records[1].pytorch_code, ContainsSubstring("# 1 of \"two\""));
  write_file_atomically(in("answers.jsonl"), episode("train:0"));
  CHECK_THAT(loaded(folder.path(), files, one).at(0).pytorch_code, ContainsSubstring("# 0 of"));
  // The name or the number alone says nothing where both files have it.
  for (const char* id : {"train:0", "0"}) {
    write_file_atomically(in("answers.jsonl"), episode("one/train:0") + episode(id));
    CHECK(loaded(folder.path(), files, both).size() == 1);
    CHECK_THAT(lines_of(in("out/audit/01-load.jsonl")).at(0),
               ContainsSubstring(concat("different tasks '", id, "'")));
  }
}

TEST_CASE("file all of whose entries are broken is refused with the first reason") {
  const TemporaryFolder folder;
  const auto in = [&](const std::string& name) { return (folder.path() / name).string(); };
  write_two_tasks(in("train.json"));
  const std::string files = concat("[", in("answers.jsonl"), "]"), tasks = concat("[", in("train.json"), "]");
  write_file_atomically(in("answers.jsonl"), episode("other:0") + episode("other:1"));
  CHECK_THROWS_MATCHES(loaded(folder.path(), files, tasks), InputError,
                       MessageMatches(ContainsSubstring("each of its 2 entries is broken") &&
                                      ContainsSubstring("has no task 'other:0'")));
  write_file_atomically(in("answers.jsonl"), episode("train:0", "infilling"));
  CHECK_THROWS_MATCHES(loaded(folder.path(), files, tasks), InputError,
                       MessageMatches(ContainsSubstring("the phase 'infilling'")));
  // An explicit form over other columns.
  FakeServices services;
  CHECK_THROWS_MATCHES(run_pipeline(concat("curation: {directory: ", in("out"),
                                           "}\nsteps:\n  - {step: load, form: pairs, files: ", tasks, "}\n"),
                                    services),
                       InputError, MessageMatches(ContainsSubstring("'prompt' is missing")));
}

TEST_CASE("whole run is loaded by its folder, by that of its texts or by a pattern") {
  const TemporaryFolder folder;
  const auto in = [&](const std::string& name) { return (folder.path() / name).string(); };
  write_two_tasks(in("train.json"));
  fs::create_directories(in("run/texts"));
  write_file_atomically(in("run/texts/end_to_end-000002-rank-0.jsonl.gz"), gzip(episode("train:1")));
  write_file_atomically(in("run/texts/end_to_end-000001-rank-1.jsonl.gz"), gzip(""));
  write_file_atomically(in("run/texts/end_to_end-000001-rank-0.jsonl.gz"), gzip(episode("train:0")));
  write_file_atomically(in("run/texts/infilling-000001-rank-0.jsonl.gz"),
                        gzip(episode("train:0", "infilling")));
  write_file_atomically(in("run/texts/.hidden.jsonl.gz"), "no archive");
  write_file_atomically(in("run/metrics.jsonl"), "{}\n");
  write_file_atomically(
      in("run/run.json"),
      R"({"format": 6, "protocol": "8", "program": {"version": "0.1.0", "commit": "abc"}})");
  const std::string tasks = concat("[", in("train.json"), "]");
  for (const char* files :
       {"run", "run/texts", "run/texts/end_to_end-*.gz", "run/texts/*-rank-[01].jsonl.gz"}) {
    INFO(files);
    const auto records = loaded(folder.path(), concat("['", in(files), "']"), tasks);
    REQUIRE(records.size() == 2);
    CHECK(records[0].task_id == "s:train:0");
    CHECK(records[1].provenance.file == "end_to_end-000002-rank-0.jsonl.gz");
    CHECK(records[1].provenance.verifier == "bicrl 0.1.0 abc, protocol 8");
  }
  // A rank's file of another task file alone is no reason to refuse the run; without texts there are its
  // samples.
  write_file_atomically(in("run/texts/end_to_end-000003-rank-0.jsonl.gz"), gzip(episode("other:0")));
  CHECK(loaded(folder.path(), concat("['", in("run"), "']"), tasks).size() == 2);
  fs::remove_all(in("run/texts"));
  write_file_atomically(in("run/samples.jsonl"), episode("train:1"));
  CHECK(loaded(folder.path(), concat("['", in("run"), "']"), tasks).size() == 1);
  fs::create_directories(in("run/texts"));
  for (const auto& [files, why] :
       {std::pair("run/texts/x*.gz", "does not exist"), {"none", "does not exist"}})
    CHECK_THROWS_MATCHES(loaded(folder.path(), concat("['", in(files), "']"), tasks), InputError,
                         MessageMatches(ContainsSubstring(why)));
  fs::create_directories(in("none"));
  CHECK_THROWS_MATCHES(loaded(folder.path(), concat("[", in("none"), "]"), tasks), InputError,
                       MessageMatches(ContainsSubstring("holds no data files")));
}

}  // namespace
}  // namespace bicrl::curation
