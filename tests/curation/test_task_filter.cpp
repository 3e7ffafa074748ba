// The task filter against tasks with known defects and near misses, in boxes as everywhere.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "common/files/files.h"
#include "curation/code/task_defects.h"
#include "tests/curation/box_services.h"
#include "tests/curation/labelled_tasks.h"
#include "tests/curation/pipelines.h"
#include "tests/curation/record_lists.h"
#include "tests/support/support.h"

namespace bicrl::curation {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

using Found = std::map<std::string, std::set<std::string>>;  // by a task's name

// One pipeline for each folder: duplicates are looked for within it.
Found defects_found(const std::vector<LabelledTask>& tasks) {
  const TemporaryFolder folder;
  BoxServices services;
  std::map<std::string, nlohmann::json> files;
  for (const LabelledTask& task : tasks)
    files[task.folder].push_back({{"idx", task.name}, {"level", 0}, {"pytorch_code", task.code}});
  Found found;
  for (const auto& [name, entries] : files) {
    const fs::path file = folder.path() / (name + ".json"), run = folder.path() / name;
    write_file_atomically(file, entries.dump());
    run_pipeline(concat("curation: {directory: ", run.string(),
                        "}\nsteps:\n  - {step: load, form: end_to_end, files: [", file.string(),
                        "], source: s}\n  - {step: check_tasks}\n"),
                 services);
    for (const std::string& line : lines_of(run / "audit/02-check_tasks.jsonl")) {
      const auto decision = nlohmann::json::parse(line);
      const std::string id = decision["id"].get<std::string>().substr(2),
                        detail = "; " + decision["detail"].get<std::string>();
      for (const std::string& defect : defect_names())
        if (detail.find("; " + defect + ": ") != detail.npos) found[id].insert(defect);
      if (found[id].empty()) found[id].insert(decision["reason"]);
    }
  }
  return found;
}

struct Score {
  int defects = 0, recalled = 0;    // labels, and those of them that were found
  int sound = 0, false_alarms = 0;  // sound tasks, and those of them that were dropped
};

Score score(const std::vector<LabelledTask>& tasks) {
  Score score;
  Found found = defects_found(tasks);
  for (const LabelledTask& task : tasks) {
    const std::set<std::string>& measured = found[task.name];
    std::string all;
    for (const std::string& defect : measured) all += " " + defect;
    for (const std::string& defect : task.defects) {
      ++score.defects;
      if (measured.contains(defect))
        ++score.recalled;
      else
        std::cout << "missed: " << defect << " of " << task.name << " (found:" << all << ")\n";
    }
    if (!task.defects.empty()) continue;
    ++score.sound;
    if (measured.empty()) continue;
    ++score.false_alarms;
    std::cout << "false alarm: " << task.name << ":" << all << "\n";
  }
  std::cout << score.recalled << " of " << score.defects << " defects found, " << score.false_alarms << " of "
            << score.sound << " sound tasks dropped" << std::endl;
  return score;
}

TEST_CASE("answer of a box that is no examination is a crash of that task alone") {
  for (const char* text :
       {"7", "[]", "{}", R"({"failed": 1, "kind": "timeout"})",
        R"({"defects": [{"kind": "invented", "message": ""}], "unchecked": [], "fingerprints": []})"}) {
    INFO(text);
    const TaskExamination examination = examination_of(nlohmann::json::parse(text));
    CHECK(examination.failure == "crash");
    CHECK(!examination.failure_message.empty());
    CHECK(examination.fingerprints.empty());
  }
}

TEST_CASE("task filter examines a large task at its sizes by hand and drops one whose sizes are none") {
  BoxServices services;
  Record record = sample("large", "large", 1, 1);
  record.pytorch_code =
      "import torch\nrows, columns = 40000, 50000\nclass Model(torch.nn.Module):\n"
      "    def forward(self, x):\n        return torch.exp(x) if len(x) < 100 else torch.zeros_like(x)\n"
      "def get_inputs():\n    return [torch.randn(rows, columns)]\n"
      "def get_init_inputs():\n    return []\n";
  record.reduced_sizes = R"([{"rows": 33, "columns": 70}])";
  Record misnamed = record;
  misnamed.id = misnamed.task_id = "misnamed";
  misnamed.reduced_sizes = R"([{"lines": 33}])";
  // Found ones have an axis of thousands of places, and this task's function is zero there.
  const StepResult result = run_step("check_tasks", {record, misnamed}, services);
  CHECK(result.ids() == std::vector<std::string>{"large"});
  CHECK(result.dropped == std::map<std::string, std::string>{{"misnamed", "raises"}});
}

TEST_CASE("tasks that compute the same are duplicates of the first one") {
  const auto with = [](const std::string& fingerprint) {
    TaskExamination examination;
    examination.fingerprints = {fingerprint};
    return examination;
  };
  KnownFunctions known;
  known.add("first", with("f"));
  known.add("second", with("f"));
  TaskExamination third = with("f"), first = with("f"), other = with("g");
  known.mark_duplicate("third", third);
  known.mark_duplicate("first", first);
  known.mark_duplicate("other", other);
  REQUIRE(third.defects.size() == 1);
  CHECK(third.defects[0].kind == "duplicate");
  CHECK(third.defects[0].message == "computes the same function as first");
  CHECK(first.defects.empty());
  CHECK(other.defects.empty());
}

TEST_CASE("task filter finds the defects of the tasks that it was made with") {
  const Score measured = score(labelled_tasks("development"));
  CHECK(measured.recalled == measured.defects);
  CHECK(measured.false_alarms == 0);
}

TEST_CASE("task filter finds at least 95 % of labelled defects and flags at most 5 % of sound tasks") {
  for (const char* labels : {"scored_once", "scored_once_2", "scored_once_3"}) {
    INFO(labels);
    const Score measured = score(labelled_tasks(labels));
    CHECK(100 * measured.recalled >= 95 * measured.defects);
    CHECK(100 * measured.false_alarms <= 5 * measured.sound);
  }
}

}  // namespace
}  // namespace bicrl::curation
