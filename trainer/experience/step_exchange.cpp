#include "trainer/experience/step_exchange.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace bicrl {
namespace {

using nlohmann::json;

// One list of the sums for adding, writing and reading.
template <class Sums, class Visitor>
void visit_sums(Sums& s, const Visitor& visit) {
  for (auto* value : {&s.responses,
                      &s.compiled,
                      &s.correct,
                      &s.truncated,
                      &s.masked,
                      &s.infrastructure,
                      &s.task_faults,
                      &s.timed,
                      &s.log_speedup,
                      &s.faster,
                      &s.quarantined,
                      &s.repairs,
                      &s.rewarded,
                      &s.reward,
                      &s.reward_squares,
                      &s.groups,
                      &s.zero_variance_groups,
                      &s.too_few_groups,
                      &s.generated_tokens,
                      &s.forwards})
    visit(*value);
}

std::vector<double> values_of(const ResponseSums& sums) {
  std::vector<double> values;
  visit_sums(sums, [&](const double& value) { values.push_back(value); });
  return values;
}

ResponseSums sums_of(const std::vector<double>& values) {
  ResponseSums sums;
  size_t next = 0;
  visit_sums(sums, [&](double& value) { value = values.at(next++); });
  return sums;
}

std::string to_bytes(const StepShare& share) {
  json document = {{"error", share.error},
                   {"interrupted", share.interrupted},
                   {"ledger_lines", share.ledger_lines},
                   {"sums", values_of(share.sums)},
                   {"program_hashes", share.program_hashes},
                   {"fault_classes", share.fault_classes},
                   {"infrastructure_reason", share.infrastructure_reason},
                   {"reward_terms", share.reward_terms},
                   {"task_outcomes", json::array()},
                   {"group_outcomes", json::array()},
                   {"entries", json::array()},
                   {"experiences", json::array()}};
  for (const TaskOutcome& o : share.task_outcomes)
    document["task_outcomes"].push_back({o.task_id, o.pass_rate});
  for (const GroupOutcome& o : share.group_outcomes) document["group_outcomes"].push_back(to_json(o));
  for (const ResponseEntry& e : share.entries) document["entries"].push_back(to_json(e));
  for (const ExperienceShare& e : share.experiences)
    document["experiences"].push_back({e.group, e.sample, e.scored_tokens});
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

StepShare from_bytes(const std::string& bytes) {
  const json document = json::parse(bytes);
  StepShare share;
  share.error = document.at("error");
  share.interrupted = document.at("interrupted");
  share.ledger_lines = document.at("ledger_lines");
  share.sums = sums_of(document.at("sums"));
  share.program_hashes = document.at("program_hashes");
  share.fault_classes = document.at("fault_classes");
  share.infrastructure_reason = document.at("infrastructure_reason");
  share.reward_terms = document.at("reward_terms");
  for (const auto& o : document.at("task_outcomes")) share.task_outcomes.push_back({o.at(0), o.at(1)});
  for (const auto& o : document.at("group_outcomes"))
    share.group_outcomes.push_back(group_outcome_from_json(o));
  for (const auto& e : document.at("entries")) share.entries.push_back(response_entry_from_json(e));
  for (const auto& e : document.at("experiences")) share.experiences.push_back({e.at(0), e.at(1), e.at(2)});
  return share;
}

}  // namespace

std::vector<StepShare> exchange(StepShare mine, ControlPlane& control) {
  const std::vector<std::string> parts = control.all_gather(to_bytes(mine));
  std::vector<StepShare> ranks;
  std::vector<std::string> errors;
  for (const std::string& part : parts) {
    ranks.push_back(from_bytes(part));
    errors.push_back(ranks.back().error);
  }
  throw_first_error(errors);
  // Its own rank keeps the texts, which are not sent.
  ranks[static_cast<size_t>(control.rank())].entries = std::move(mine.entries);
  return ranks;
}

ResponseMetrics metrics_of(const std::vector<StepShare>& ranks) {
  std::vector<double> totals(values_of({}).size(), 0.0);
  std::set<std::string> unique;
  ResponseMetrics m;
  for (const StepShare& share : ranks) {
    const std::vector<double> values = values_of(share.sums);
    std::transform(totals.begin(), totals.end(), values.begin(), totals.begin(), std::plus<>());
    unique.insert(share.program_hashes.begin(), share.program_hashes.end());
    for (const auto& [name, count] : share.fault_classes) m.fault_classes[name] += count;
    for (const auto& [name, sum] : share.reward_terms) m.reward_terms[name] += sum;
    if (m.infrastructure_reason.empty()) m.infrastructure_reason = share.infrastructure_reason;
  }
  const ResponseSums s = sums_of(totals);
  for (auto& [name, value] : m.reward_terms) value /= s.rewarded;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0.0; };
  m.responses = std::llround(s.responses);
  m.unique_programs = static_cast<int64_t>(unique.size());
  // A response cut off by the token limit counts as wrong; of one that the verifier lost or cannot grade
  // nothing is known.
  const double known = s.responses - s.infrastructure - s.task_faults;
  m.compile_rate = share(s.compiled, known);
  m.correct_rate = share(s.correct, known);
  m.timed = std::llround(s.timed);
  m.geomean_speedup = s.timed > 0 ? std::exp(s.log_speedup / s.timed) : 0;
  m.fast_1 = share(s.faster, known);
  m.truncated_rate = share(s.truncated, s.responses);
  m.masked_rate = share(s.masked, s.responses);
  m.task_fault_rate = share(s.task_faults, s.responses);
  m.infrastructure_rate = share(s.infrastructure, s.responses);
  m.quarantined = std::llround(s.quarantined);
  m.repairs = std::llround(s.repairs);
  m.reward_mean = share(s.reward, s.rewarded);
  m.reward_spread =
      std::sqrt(std::max(0.0, share(s.reward_squares, s.rewarded) - m.reward_mean * m.reward_mean));
  m.groups = std::llround(s.groups);
  m.zero_variance_groups = std::llround(s.zero_variance_groups);
  m.too_few_groups = std::llround(s.too_few_groups);
  m.generated_tokens = std::llround(s.generated_tokens);
  m.tokens_per_forward = share(s.generated_tokens, s.forwards);
  return m;
}

}  // namespace bicrl
