// Records of tests, and what a single step makes of them.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "curation/record.h"
#include "curation/services.h"

namespace bicrl::curation {

// What a pipeline of that one step passed on, and what it dropped: reasons by id.
struct StepResult {
  std::vector<Record> records;
  std::map<std::string, std::string> dropped;
  std::vector<std::string> ids() const;
  const Record& at(const std::string& id) const;
};

// `step`: the step's entry in a pipeline's file, in one line.
StepResult run_step(const std::string& step, const std::vector<Record>& records, Services& services);

// An answer to a task that was verified as correct.
Record sample(const std::string& id, const std::string& task, double speedup, double reasoning_tokens);

}  // namespace bicrl::curation
