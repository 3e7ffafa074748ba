#include "trainer/run/step_metrics.h"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/clock.h"
#include "common/error.h"

namespace bicrl {
namespace {

std::string fixed(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double share) { return fixed(100 * share, 0) + " %"; }

}  // namespace

std::string step_line(const StepMetrics& m, double eta_seconds) {
  std::string line = concat(m.phase, " ", m.step, "/", m.steps);
  if (m.responses > 0) {
    if (m.verified)
      line += concat(" | reward ", fixed(m.reward_mean, 3), " +-", fixed(m.reward_spread, 3), " | compile ",
                     percent(m.compile_rate), " | correct ", percent(m.correct_rate));
    line += concat(" | unique ", m.unique_programs, "/", m.responses);
    if (m.truncated_rate > 0) line += concat(" | cut ", percent(m.truncated_rate));
    if (m.infrastructure_rate > 0) line += concat(" | no verdict ", percent(m.infrastructure_rate));
    if (m.quarantined > 0) line += concat(" | confirmed ", m.quarantined);
    if (m.repairs > 0) line += concat(" | repairs ", m.repairs, "/", m.groups);
    if (m.verified)
      line += concat(" | flat groups ", m.zero_variance_groups + m.too_few_groups, "/", m.groups);
    if (m.updates > 0)
      line += concat(" | kl ", fixed(m.kl, 4), " | clip ", percent(m.clip_share), " | gap ",
                     fixed(m.log_prob_gap, 6));
  } else {
    line += concat(" | loss ", fixed(m.loss, 3));
  }
  if (m.updates > 0 || m.responses == 0)
    line += concat(" | grad ", fixed(m.grad_norm, 2), m.update_skipped ? " (update skipped)" : "");
  if (m.responses > 0)
    line +=
        concat(" | rollout ", fixed(m.rollout_seconds, 1), " s, verify +", fixed(m.verify_wait_seconds, 1),
               " s, train ", fixed(m.train_seconds, 1), " s | ",
               fixed(m.step_seconds > 0 ? static_cast<double>(m.generated_tokens) / m.step_seconds : 0, 0),
               " tok/s");
  return line + concat(" | step ", fixed(m.step_seconds, 1), " s | ETA ", clock_text(eta_seconds));
}

nlohmann::json to_json(const StepMetrics& m) {
  nlohmann::json json = {{"phase", m.phase},
                         {"step", m.step},
                         {"steps", m.steps},
                         {"loss", m.loss},
                         {"grad_norm", m.grad_norm},
                         {"learning_rate", m.learning_rate},
                         {"trained_tokens", m.trained_tokens},
                         {"update_skipped", m.update_skipped},
                         {"train_seconds", m.train_seconds},
                         {"step_seconds", m.step_seconds}};
  if (m.responses == 0) return json;
  json.update({{"responses", m.responses},
               {"unique_programs", m.unique_programs},
               {"reward_rule", m.reward_rule},
               {"reward_mean", m.reward_mean},
               {"reward_spread", m.reward_spread},
               {"reward_terms", m.reward_terms},
               {"compile_rate", m.compile_rate},
               {"correct_rate", m.correct_rate},
               {"truncated_rate", m.truncated_rate},
               {"masked_rate", m.masked_rate},
               {"infrastructure_rate", m.infrastructure_rate},
               {"quarantined", m.quarantined},
               {"repairs", m.repairs},
               {"groups", m.groups},
               {"zero_variance_groups", m.zero_variance_groups},
               {"too_few_groups", m.too_few_groups},
               {"generated_tokens", m.generated_tokens},
               {"tokens_per_forward", m.tokens_per_forward},
               {"fault_classes", m.fault_classes},
               {"kl", m.kl},
               {"clip_share", m.clip_share},
               {"entropy", m.entropy},
               {"log_prob_gap", m.log_prob_gap},
               {"rollout_seconds", m.rollout_seconds},
               {"verify_wait_seconds", m.verify_wait_seconds},
               {"tokens_per_second",
                m.step_seconds > 0 ? static_cast<double>(m.generated_tokens) / m.step_seconds : 0.0}});
  return json;
}

}  // namespace bicrl
