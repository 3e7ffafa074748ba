#include "trainer/run/reports/step_metrics.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/error.h"
#include "verdict/verdict.h"

namespace bicrl {
namespace {

std::string fixed(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

// Tokens and rows a second are those of one rank.
std::string time_part(const StepMetrics& m) {
  std::string line = " | ";
  if (m.responses) {
    line += concat("rollout ", fixed(m.seconds.rollout, 1), " s");
    if (m.seconds.rollout > 0) line += concat(" (", fixed(m.rank_generated_per_second(), 0), " tok/s)");
    line += concat(", verify +", fixed(m.seconds.verify_wait, 1), " s");
    if (m.load.verifier_queue > 0) line += concat(" (", m.load.verifier_queue, " waiting)");
    line += ", ";
  }
  line += concat("train ", fixed(m.seconds.train, 1), " s");
  if (m.update[UpdateRow::kPackedRows] == 0) return line;
  line += concat(" (", fixed(m.rank_trained_per_second(), 0), " rows/s");
  if (m.load.mfu) line += concat(", MFU ", percent(*m.load.mfu));
  return line + ")";
}

// Where the time of each rank goes.
nlohmann::json seconds_by_rank(const StepMetrics& m) {
  nlohmann::json json;
  for (const StepSeconds& rank : m.load.seconds_of_ranks)
    for (const StepSecondsField& field : kStepSeconds)
      if (m.responses || !field.of_responses) json[field.key].push_back(rank.*field.value);
  return json;
}

}  // namespace

double StepMetrics::tokens_per_second() const {
  return responses && seconds.step > 0 ? responses->sums[Sum::kGenerated] / seconds.step : 0.0;
}

double StepMetrics::rank_generated_per_second() const {
  return responses && seconds.rollout > 0
             ? responses->sums[Sum::kGenerated] / static_cast<double>(load.generators) / seconds.rollout
             : 0.0;
}

double StepMetrics::rank_trained_per_second() const {
  return seconds.train > 0
             ? update[UpdateRow::kPackedRows] / static_cast<double>(load.trainers) / seconds.train
             : 0.0;
}

std::string step_line(const StepMetrics& m, double eta_seconds, std::optional<double> run_eta_seconds) {
  std::string line = concat(m.phase, " ", m.step, "/", m.steps);
  if (m.epochs > 0) line += concat(" | epoch ", m.epoch, "/", m.epochs);
  if (m.responses)
    line += figures_text(m.responses->sums, m.meaning.verified, m.meaning.clock == kModelClock);
  line += m.update.text(m.responses.has_value());
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
                         {"train_seconds", m.seconds.train},
                         {"step_seconds", m.seconds.step},
                         {"checkpoint_stall_seconds", m.saving.stall},
                         {"checkpoint_write_seconds", m.saving.write}};
  if (m.epochs > 0) json.update({{"epoch", m.epoch}, {"epochs", m.epochs}});
  json.update(m.update.to_json(m.responses.has_value()));
  json["rank_trained_tokens_per_second"] = m.rank_trained_per_second();
  json["rows_per_second"] = m.rank_trained_per_second() * static_cast<double>(m.load.trainers);
  if (m.load.memory_peak_bytes > 0) json["memory_peak_bytes"] = m.load.memory_peak_bytes;
  if (m.load.mfu) json["train_mfu"] = *m.load.mfu;
  for (const auto& [kind, figures] : m.load.collectives)
    json["collectives"][kind] = {{"calls", figures.calls},
                                 {"bytes", figures.bytes},
                                 {"waited_seconds", figures.waited_s},
                                 {"under_way_seconds", figures.under_way_s}};
  if (m.load.seconds_of_ranks.size() > 1) json["rank_seconds"] = seconds_by_rank(m);
  if (!m.responses) return json;
  json.update(to_json(*m.responses, m.meaning.verified));
  json.update({{"reward_rule", m.meaning.reward_rule},
               {"clock", m.meaning.clock},
               {"rollout_seconds", m.seconds.rollout},
               {"verify_wait_seconds", m.seconds.verify_wait},
               {"tokens_per_second", m.tokens_per_second()},
               {"rank_generated_tokens_per_second", m.rank_generated_per_second()},
               {"verifier_queue", m.load.verifier_queue}});
  return json;
}

}  // namespace bicrl
