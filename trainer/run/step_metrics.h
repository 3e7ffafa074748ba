// What one training step reports: on the terminal as one line, in metrics.jsonl as one record.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace bicrl {

// Figures of one step over all ranks. Rates are in [0, 1]; a rate over nothing is 0.
struct StepMetrics {
  StepMetrics(std::string phase, int64_t step, int64_t steps)
      : phase(std::move(phase)), step(step), steps(steps) {}
  std::string phase;  // "warm_up", "infilling", "end_to_end"
  int64_t step = 0;   // 1-based within the phase
  int64_t steps = 0;
  // Rollout and verdicts
  bool verified = true;  // whether there are rewards at all; not so in a replay of rollouts alone
  int64_t responses = 0;
  int64_t unique_programs = 0;
  std::string reward_rule;
  double reward_mean = 0;
  double reward_spread = 0;
  std::map<std::string, double> reward_terms;  // the mean of each summand
  double compile_rate = 0;  // of the responses that the verifier did not lose; truncated ones count as wrong
  double correct_rate = 0;  // likewise
  double truncated_rate = 0;
  double masked_rate = 0;          // left out of the update, for whatever reason
  double infrastructure_rate = 0;  // of these: without a verdict through the verifier's fault
  int64_t quarantined = 0;         // responses whose success was verified a second time
  int64_t repairs = 0;             // groups that were asked to repair a failed program
  std::string advantage;           // kind; empty where none is computed
  int64_t groups = 0;
  int64_t zero_variance_groups = 0;  // nothing is learnt from these,
  int64_t too_few_groups = 0;        // nor from these, of which fewer than two responses count
  int64_t generated_tokens = 0;
  double tokens_per_forward = 0;
  std::map<std::string, int64_t> fault_classes;
  std::string infrastructure_reason;  // of one response without a verdict
  // Update
  int64_t updates = 0;
  double loss = 0;
  double kl = 0;
  double clip_share = 0;
  double entropy = 0;  // of the policy at scored tokens, in nats
  double log_prob_gap = 0;
  double grad_norm = 0;
  double learning_rate = 0;
  int64_t trained_tokens = 0;
  bool update_skipped = false;
  // Wall-clock seconds of the slowest rank
  double rollout_seconds = 0;
  double verify_wait_seconds = 0;
  double train_seconds = 0;
  double step_seconds = 0;
};

// "infilling 3/20 | reward 0.41 +-0.49 | compile 93 % | correct 41 % | ... | ETA 1:20"
std::string step_line(const StepMetrics& metrics, double eta_seconds);
nlohmann::json to_json(const StepMetrics& metrics);

}  // namespace bicrl
