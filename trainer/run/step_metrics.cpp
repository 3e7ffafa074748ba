#include "trainer/run/step_metrics.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/error.h"
#include "tasks/verdict.h"

namespace bicrl {
namespace {

std::string fixed(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

std::string response_part(const ResponseMetrics& r, const StepMetrics& m) {
  std::string line;
  if (m.meaning.verified)
    line += concat(" | reward ", fixed(r.reward_mean, 3), " +-", fixed(r.reward_spread, 3), " | compile ",
                   percent(r.compile_rate), " | correct ", percent(r.correct_rate));
  if (r.timed > 0)
    line += concat(" | ", m.meaning.clock == kModelClock ? "modelled " : "", "speed-up ",
                   fixed(r.geomean_speedup, 2), "x, fast_1 ", percent(r.fast_1));
  line += concat(" | unique ", r.unique_programs, "/", r.responses);
  if (m.meaning.verified) line += concat(", right ", fixed(r.unique_right, 1), " a group");
  if (r.unshown_rate > 0) line += concat(" | new ways ", percent(r.unshown_rate));
  if (r.truncated_rate > 0) line += concat(" | truncated ", percent(r.truncated_rate));
  if (r.task_fault_rate > 0) line += concat(" | task at fault ", percent(r.task_fault_rate));
  if (r.infrastructure_rate > 0) line += concat(" | no verdict ", percent(r.infrastructure_rate));
  if (r.stragglers > 0) line += concat(" (given up ", r.stragglers, ")");
  if (r.quarantined > 0) line += concat(" | confirmed ", r.quarantined);
  if (r.repairs > 0) line += concat(" | repairs ", r.repairs, "/", r.groups);
  if (m.meaning.verified)
    line += concat(" | zero variance ", r.zero_variance_groups + r.too_few_groups, "/", r.groups);
  if (m.update.updates > m.update.imitation_updates)
    line += concat(" | kl ", fixed(m.update.kl, 4), " | clip ", percent(m.update.clip_share), " | gap ",
                   fixed(m.update.logprob_gap_max, 6));
  return line;
}

// Tokens and rows a second are those of one rank.
std::string time_part(const StepMetrics& m) {
  std::string line = " | ";
  if (m.responses) {
    line += concat("rollout ", fixed(m.seconds.rollout, 1), " s (", fixed(m.rank_generated_per_second(), 0),
                   " tok/s), verify +", fixed(m.seconds.verify_wait, 1), " s");
    if (m.load.verifier_queue > 0) line += concat(" (", m.load.verifier_queue, " waiting)");
    line += ", ";
  }
  line += concat("train ", fixed(m.seconds.train, 1), " s");
  if (m.update.packed_rows == 0) return line;
  line += concat(" (", fixed(m.rank_trained_per_second(), 0), " rows/s");
  if (m.load.mfu) line += concat(", MFU ", percent(*m.load.mfu));
  return line + ")";
}

}  // namespace

double StepMetrics::tokens_per_second() const {
  return responses && seconds.step > 0 ? static_cast<double>(responses->generated_tokens) / seconds.step
                                       : 0.0;
}

double StepMetrics::rank_generated_per_second() const {
  return responses && seconds.rollout > 0 ? static_cast<double>(responses->generated_tokens) /
                                                static_cast<double>(load.ranks) / seconds.rollout
                                          : 0.0;
}

double StepMetrics::rank_trained_per_second() const {
  return seconds.train > 0
             ? static_cast<double>(update.packed_rows) / static_cast<double>(load.ranks) / seconds.train
             : 0.0;
}

std::string step_line(const StepMetrics& m, double eta_seconds, std::optional<double> run_eta_seconds) {
  std::string line = concat(m.phase, " ", m.step, "/", m.steps);
  line += m.responses ? response_part(*m.responses, m) : concat(" | loss ", fixed(m.update.loss, 3));
  if (m.update.imitation_updates > 0)
    line += concat(" | imitation loss ", fixed(m.update.imitation_loss, 3), " grad ",
                   fixed(m.update.imitation_grad_norm, 2));
  if (m.update.updates > 0 || !m.responses)
    line +=
        concat(" | grad ", fixed(m.update.grad_norm, 2), m.update.skipped_updates > 0 ? " (skipped)" : "");
  line += time_part(m);
  if (m.saving.stall > 0) line += concat(" | checkpoint +", fixed(m.saving.stall, 2), " s");
  if (m.load.memory_peak_bytes > 0)
    line += concat(" | memory ", fixed(static_cast<double>(m.load.memory_peak_bytes) / (1 << 30), 1), " GiB");
  line += concat(" | step ", fixed(m.seconds.step, 1), " s | ETA ", clock_text(eta_seconds));
  return run_eta_seconds ? concat(line, ", run ", clock_text(*run_eta_seconds)) : line;
}

nlohmann::json to_json(const StepMetrics& m) {
  nlohmann::json json = {{"phase", m.phase},
                         {"step", m.step},
                         {"steps", m.steps},
                         {"loss", m.update.loss},
                         {"grad_norm", m.update.grad_norm},
                         {"learning_rate", m.update.learning_rate},
                         {"trained_tokens", m.update.scored_tokens},
                         {"updates", m.update.updates},
                         {"skipped_updates", m.update.skipped_updates},
                         {"train_seconds", m.seconds.train},
                         {"step_seconds", m.seconds.step},
                         {"checkpoint_stall_seconds", m.saving.stall},
                         {"checkpoint_write_seconds", m.saving.write}};
  json["rank_trained_tokens_per_second"] = m.rank_trained_per_second();
  json["rows_per_second"] = m.rank_trained_per_second() * static_cast<double>(m.load.ranks);
  if (m.load.memory_peak_bytes > 0) json["memory_peak_bytes"] = m.load.memory_peak_bytes;
  if (m.load.mfu) json["train_mfu"] = *m.load.mfu;
  for (const auto& [kind, figures] : m.load.collectives)
    json["collectives"][kind] = {{"calls", figures.calls},
                                 {"bytes", figures.bytes},
                                 {"waited_seconds", figures.waited_s},
                                 {"under_way_seconds", figures.under_way_s}};
  if (!m.responses) return json;
  const ResponseMetrics& r = *m.responses;
  json.update({{"responses", r.responses},
               {"unique_programs", r.unique_programs},
               {"unique_right", r.unique_right},
               {"unshown_rate", r.unshown_rate},
               {"reward_rule", m.meaning.reward_rule},
               {"reward_mean", r.reward_mean},
               {"reward_spread", r.reward_spread},
               {"reward_terms", r.reward_terms},
               {"compile_rate", r.compile_rate},
               {"correct_rate", r.correct_rate},
               {"clock", m.meaning.clock},
               {"geomean_speedup", r.geomean_speedup},
               {"fast_1", r.fast_1},
               {"truncated_rate", r.truncated_rate},
               {"masked_rate", r.masked_rate},
               {"task_fault_rate", r.task_fault_rate},
               {"tasks_at_fault", r.tasks_at_fault},
               {"infrastructure_rate", r.infrastructure_rate},
               {"stragglers", r.stragglers},
               {"quarantined", r.quarantined},
               {"repairs", r.repairs},
               {"groups", r.groups},
               {"zero_variance_groups", r.zero_variance_groups},
               {"too_few_groups", r.too_few_groups},
               {"generated_tokens", r.generated_tokens},
               {"tokens_per_forward", r.tokens_per_forward},
               {"fault_classes", r.fault_classes},
               {"kl", m.update.kl},
               {"clip_share", m.update.clip_share},
               {"entropy", m.update.entropy},
               {"imitation_updates", m.update.imitation_updates},
               {"imitation_loss", m.update.imitation_loss},
               {"imitation_grad_norm", m.update.imitation_grad_norm},
               {"log_prob_gap", m.update.logprob_gap_max},
               {"log_prob_gap_mean", m.update.logprob_gap_mean},
               {"rollout_seconds", m.seconds.rollout},
               {"verify_wait_seconds", m.seconds.verify_wait},
               {"tokens_per_second", m.tokens_per_second()},
               {"rank_generated_tokens_per_second", m.rank_generated_per_second()},
               {"verifier_queue", m.load.verifier_queue}});
  return json;
}

}  // namespace bicrl
