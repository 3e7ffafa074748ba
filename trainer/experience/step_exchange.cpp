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
  for (auto* value : {&s.responses,      &s.compiled,         &s.correct,
                      &s.truncated,      &s.masked,           &s.infrastructure,
                      &s.stragglers,     &s.task_faults,      &s.timed,
                      &s.log_speedup,    &s.faster,           &s.quarantined,
                      &s.repairs,        &s.rewarded,         &s.reward,
                      &s.reward_squares, &s.groups,           &s.zero_variance_groups,
                      &s.too_few_groups, &s.generated_tokens, &s.forwards,
                      &s.unique_right,   &s.unshown,          &s.asked})
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

json to_json(const GroupShare& group) {
  json document = {{"group", group.group},
                   {"sums", values_of(group.sums)},
                   {"infrastructure_reason", group.infrastructure_reason},
                   {"reward_terms", group.reward_terms}};
  if (const auto& o = group.task_outcome)
    document["task_outcome"] = {o->task_id, o->pass_rate, o->reward_deviation};
  if (const auto& o = group.group_outcome) document["group_outcome"] = to_json(*o);
  return document;
}

GroupShare group_share_from_json(const json& document) {
  GroupShare group;
  group.group = document.at("group");
  group.sums = sums_of(document.at("sums"));
  group.infrastructure_reason = document.at("infrastructure_reason");
  group.reward_terms = document.at("reward_terms");
  if (const auto o = document.find("task_outcome"); o != document.end())
    group.task_outcome = TaskOutcome{o->at(0), o->at(1), o->at(2)};
  if (const auto o = document.find("group_outcome"); o != document.end())
    group.group_outcome = group_outcome_from_json(*o);
  return group;
}

std::string to_bytes(const StepShare& share) {
  json document = {{"error", share.error},
                   {"interrupted", share.interrupted},
                   {"ledger_lines", share.ledger_lines},
                   {"sums", values_of(share.sums)},
                   {"program_hashes", share.program_hashes},
                   {"fault_classes", share.fault_classes},
                   {"groups", json::array()},
                   {"entries", json::array()},
                   {"experiences", json::array()}};
  for (const GroupShare& group : share.groups) document["groups"].push_back(to_json(group));
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
  for (const auto& group : document.at("groups")) share.groups.push_back(group_share_from_json(group));
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

std::vector<const GroupShare*> groups_in_order(const std::vector<StepShare>& ranks) {
  std::vector<const GroupShare*> groups;
  for (const StepShare& share : ranks)
    for (const GroupShare& group : share.groups) groups.push_back(&group);
  std::sort(groups.begin(), groups.end(),
            [](const GroupShare* a, const GroupShare* b) { return a->group < b->group; });
  return groups;
}

ResponseMetrics metrics_of(const std::vector<StepShare>& ranks) {
  std::vector<double> totals(values_of({}).size(), 0.0);
  const auto add = [&](const ResponseSums& sums) {
    const std::vector<double> values = values_of(sums);
    std::transform(totals.begin(), totals.end(), values.begin(), totals.begin(), std::plus<>());
  };
  std::set<std::string> unique;
  ResponseMetrics m;
  for (const StepShare& share : ranks) {
    add(share.sums);
    unique.insert(share.program_hashes.begin(), share.program_hashes.end());
    for (const auto& [name, count] : share.fault_classes) m.fault_classes[name] += count;
  }
  for (const GroupShare* group : groups_in_order(ranks)) {
    add(group->sums);
    for (const auto& [name, sum] : group->reward_terms) m.reward_terms[name] += sum;
    if (m.infrastructure_reason.empty()) m.infrastructure_reason = group->infrastructure_reason;
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
  m.stragglers = std::llround(s.stragglers);
  m.quarantined = std::llround(s.quarantined);
  m.repairs = std::llround(s.repairs);
  m.unique_right = share(s.unique_right, s.groups);
  m.unshown_rate = share(s.unshown, known);
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
