// From the scores of an evaluation to its figures: rates with confidence intervals over all tasks and per
// class of task, pass@k, fault classes. Pure functions.
//
// Every task counts the same: a rate is the mean over tasks of the share of a task's verified responses, so
// the correct rate is pass@1. Tasks without a verified response are left out, those that can never be graded
// of all counts.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "trainer/evaluation/pass_at_k.h"
#include "trainer/evaluation/task_scores.h"

namespace bicrl {

// How intervals are made. With one response a task these are independent trials and intervals are Wilson's;
// with more, responses to one task belong together and tasks are bootstrapped, with a fixed seed (if all
// tasks have one value, which resampling would call certain, the interval is Wilson's over tasks).
struct IntervalSettings {
  double confidence = 0.95;
  int64_t resamples = 2000;
};

struct Estimate {
  int64_t tasks = 0;  // it is made of; without any it has no value
  double value = 0;
  Interval interval;
};

struct ClassReport {
  std::string name;  // "all", "level 2", "softmax"
  int64_t tasks = 0;
  int64_t verified = 0;  // responses
  Estimate compile;
  Estimate correct;
  // Where programs are timed. Geometric means over the tasks with a correct program: of a task's correct
  // programs, and of its fastest.
  Estimate speedup;
  Estimate best_speedup;
  Estimate fast_1;  // as `correct`, of those faster than eager
  Estimate fast_2;  // more than twice as fast
};

struct EvalReport {
  ClassReport all;
  std::vector<ClassReport> levels;        // ascending
  std::vector<ClassReport> families;      // of the tasks with a composition, by name
  std::map<int64_t, Estimate> pass_at_k;  // over the tasks with at least k verified responses
  std::map<std::string, int64_t> fault_classes;
  int64_t responses = 0;
  int64_t unverified = 0;     // through the verifier's fault
  int64_t undecided = 0;      // cannot be graded here
  int64_t truncated = 0;      // of those with a verdict
  int64_t reduced = 0;        // of those: compared at reduced sizes of their task
  int64_t invalid_tasks = 0;  // that can never be graded
  double confidence = 0;
};

// The kind of operator that gives a composition its shape ("softmax", "elementwise"...); "other" if an
// operator is not one of ours. Empty without a composition.
std::string family_of(const std::vector<std::string>& composition);

// `scores` has one entry for each task.
EvalReport make_eval_report(const std::vector<Task>& tasks, const std::vector<TaskScore>& scores,
                            const std::vector<int64_t>& ks, const IntervalSettings& intervals);

std::string eval_table(const EvalReport& report);
nlohmann::json to_json(const EvalReport& report);

}  // namespace bicrl
