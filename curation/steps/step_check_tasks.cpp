// Step `check_tasks`: the task filter. Runs every task's reference in a box, on many inputs and with each
// input and parameter changed, and drops tasks with a defect. Records of one task are examined once.
//   refuse: defects (all if left out), unexamined: drop | keep
#include <algorithm>
#include <map>

#include "common/log.h"
#include "curation/code/code_questions.h"
#include "curation/code/task_defects.h"

namespace bicrl::curation {
namespace {

using Json = nlohmann::ordered_json;

class CheckTasks : public Step {
 public:
  CheckTasks(const ConfigSection& p, const StepEnvironment& environment) : questions_(environment) {
    refused_ = p.texts("refuse", defect_names());
    for (const std::string& name : refused_)
      if (std::ranges::find(defect_names(), name) == defect_names().end())
        p.reject("refuse", concat("there is no defect '", name, "'; there are: ", all_names()));
    keep_unexamined_ = p.choice("unexamined", "drop", {"drop", "keep"}) == "keep";
  }

  void take(Record record, Outlet& out) override {
    if (record.pytorch_code.empty()) return out.drop(record.id, "has no task's code");
    nlohmann::json request = examination_request(record.pytorch_code, record.reduced_sizes);
    questions_.ask(std::move(record), {std::move(request)});
  }
  size_t waiting() const override { return questions_.waiting(); }
  size_t most_waiting() const override { return questions_.most_waiting(); }
  void advance(Outlet& out, Milliseconds patience) override {
    questions_.advance(patience, [&](Record record, const std::vector<nlohmann::json>& answers) {
      decide(std::move(record), answers.front(), out);
    });
  }

  Json inputs() const override { return questions_.inputs(); }
  Json card() const override {
    Json card = {{"defects_found", found_}, {"examined", examined_}};
    if (!unchecked_.empty()) card["not_looked_for_in_time"] = unchecked_;
    return card;
  }

 private:
  static std::string all_names() {
    std::string all;
    for (const std::string& name : defect_names()) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  void decide(Record record, const nlohmann::json& answer, Outlet& out) {
    ++examined_;
    TaskExamination examination = examination_of(answer);
    if (!examination.failure.empty()) {
      ++found_["not examined: " + examination.failure];
      if (!keep_unexamined_)
        return out.drop(record.id, "not examined: " + examination.failure, examination.failure_message);
      return out.pass(std::move(record));
    }
    for (const std::string& what : examination.unchecked) ++unchecked_[what];
    // Of a task that was passed on; answers to one task are no duplicates of each other.
    known_.mark_duplicate(record.task_id, examination);
    std::string detail, reason;
    for (const auto& [kind, message] : examination.defects) {
      ++found_[kind];
      if (std::ranges::find(refused_, kind) == refused_.end()) continue;
      if (reason.empty()) reason = kind;
      detail += concat(detail.empty() ? "" : "; ", kind, ": ", message);
    }
    if (!reason.empty()) return out.drop(record.id, reason, detail);
    known_.add(record.task_id, examination);
    out.pass(std::move(record));
  }

  CodeQuestions questions_;
  std::vector<std::string> refused_;
  bool keep_unexamined_ = false;
  KnownFunctions known_;
  std::map<std::string, int64_t> found_, unchecked_;
  int64_t examined_ = 0;
};

const StepRegistration kCheckTasksRegistered("check_tasks",
                                             "drops tasks with a defect: constant, random, redundant...",
                                             [](const ConfigSection& p, const StepEnvironment& e) {
                                               return std::make_unique<CheckTasks>(p, e);
                                             });

}  // namespace
}  // namespace bicrl::curation
