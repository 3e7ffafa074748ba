// What one step of reinforcement says of its responses, over all ranks. Plain values.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace bicrl {

// Rates are in [0, 1]; a rate over nothing is 0.
struct ResponseMetrics {
  int64_t responses = 0;
  int64_t unique_programs = 0;
  double unique_right = 0;  // distinct right programs in a group, on average over all groups
  // Responses that are right in a way that no known program shows for the task's operators
  // (tasks/known_programs.h), of those that correct_rate is of.
  double unshown_rate = 0;
  double reward_mean = 0;
  double reward_spread = 0;
  std::map<std::string, double> reward_terms;  // the mean of each summand
  double compile_rate = 0;  // of the responses that the verifier did not lose; truncated ones count as wrong
  double correct_rate = 0;  // likewise
  int64_t timed = 0;        // correct ones whose speed-up is known, by the run's clock
  double geomean_speedup = 0;  // over eager, of these; 0 if there are none
  double fast_1 = 0;           // share of the responses, as above, that are correct and faster than eager
  double truncated_rate = 0;
  double masked_rate = 0;             // left out of the update, for whatever reason
  double task_fault_rate = 0;         // of these: their task can never be graded
  int64_t tasks_at_fault = 0;         // that the run has found so far and leaves out from now on
  double infrastructure_rate = 0;     // of these: without a verdict through the verifier's fault
  std::string infrastructure_reason;  // of one of them
  int64_t stragglers = 0;             // of these: given up at the step's deadline
  int64_t quarantined = 0;            // responses whose success was verified a second time
  int64_t repairs = 0;                // groups that were asked to repair a failed program
  int64_t groups = 0;
  int64_t zero_variance_groups = 0;  // nothing is learnt from these,
  int64_t too_few_groups = 0;        // nor from these, of which fewer than two responses count
  int64_t generated_tokens = 0;
  double tokens_per_forward = 0;
  std::map<std::string, int64_t> fault_classes;
};

}  // namespace bicrl
