#include "tests/curation/record_lists.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/files/files.h"
#include "tests/curation/pipelines.h"
#include "tests/support/support.h"

namespace bicrl::curation {

std::vector<std::string> StepResult::ids() const {
  std::vector<std::string> ids;
  for (const Record& record : records) ids.push_back(record.id);
  return ids;
}

const Record& StepResult::at(const std::string& id) const {
  for (const Record& record : records)
    if (record.id == id) return record;
  throw std::out_of_range("no record " + id);
}

StepResult run_step(const std::string& step, const std::vector<Record>& records, Services& services) {
  const testing::TemporaryFolder folder;
  std::string lines;
  for (const Record& record : records) lines += to_line(record) + "\n";
  write_file_atomically(folder.path() / "in.jsonl", lines);
  const std::string name = step.substr(0, step.find_first_of(",}"));
  run_pipeline(concat("curation: {directory: ", (folder.path() / "run").string(),
                      "}\nsteps:\n  - {step: load, files: [", (folder.path() / "in.jsonl").string(),
                      "], form: records}\n  - {step: ", step, "}\n"),
               services);
  StepResult result;
  for (const std::string& line : lines_of(folder.path() / concat("run/records/02-", name, ".jsonl")))
    result.records.push_back(record_from_line(line));
  for (const std::string& line : lines_of(folder.path() / concat("run/audit/02-", name, ".jsonl"))) {
    const auto decision = nlohmann::json::parse(line);
    result.dropped[decision["id"]] = decision["reason"];
  }
  return result;
}

Record sample(const std::string& id, const std::string& task, double speedup, double reasoning_tokens) {
  Record record;
  record.id = id;
  record.task_id = task;
  record.pytorch_code = module_named("# " + task);
  record.verdict = Verdict{};
  record.verdict->outcome = Outcome::kGraded;
  record.verdict->correct = record.verdict->compiled = true;
  record.verdict->eager_ms = speedup;
  record.verdict->candidate_ms = 1;
  record.figures["reasoning_tokens"] = reasoning_tokens;
  return record;
}

}  // namespace bicrl::curation
