#include "trainer/experience/step_exchange.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "episode/episode_fields.h"
#include "trainer/ranks/document_exchange.h"

namespace bicrl {
namespace {

using nlohmann::json;

json to_json(const GroupReport& group) {
  json document = {{"group", group.group},
                   {"sums", group.sums.values},
                   {"infrastructure_reason", group.infrastructure_reason},
                   {"reward_terms", group.reward_terms},
                   {"fault_classes", group.fault_classes},
                   {"program_hashes", group.program_hashes}};
  if (const auto& o = group.task_outcome)
    document["task_outcome"] = {o->task_id, o->pass_rate, o->reward_deviation};
  if (const auto& o = group.group_outcome) document["group_outcome"] = to_json(*o);
  return document;
}

GroupReport group_report_from_json(const json& document) {
  GroupReport group;
  group.group = document.at("group");
  document.at("sums").get_to(group.sums.values);
  group.infrastructure_reason = document.at("infrastructure_reason");
  document.at("reward_terms").get_to(group.reward_terms);
  document.at("fault_classes").get_to(group.fault_classes);
  document.at("program_hashes").get_to(group.program_hashes);
  if (const auto o = document.find("task_outcome"); o != document.end())
    group.task_outcome = TaskOutcome{o->at(0), o->at(1), o->at(2)};
  if (const auto o = document.find("group_outcome"); o != document.end())
    group.group_outcome = group_outcome_from_json(*o);
  return group;
}

json to_json(const RankStepReport& report) {
  json document = {{"interrupted", report.interrupted},
                   {"ledger_lines", report.ledger_lines},
                   {"sums", report.sums.values},
                   {"groups", json::array()},
                   {"log", json::array()},
                   {"experiences", json::array()}};
  for (const GroupReport& group : report.groups) document["groups"].push_back(to_json(group));
  for (const Episode& e : report.log) document["log"].push_back(to_json(e, EpisodeForm::kLog));
  for (const ExperienceKey& e : report.experiences)
    document["experiences"].push_back(
        {e.group, e.sample, e.scored_tokens, e.turn, e.prompt_tokens, e.scored_rounds});
  return document;
}

RankStepReport report_from_json(const json& document) {
  RankStepReport report;
  report.error = document.at("error");
  report.interrupted = document.at("interrupted");
  report.ledger_lines = document.at("ledger_lines");
  document.at("sums").get_to(report.sums.values);
  for (const auto& group : document.at("groups")) report.groups.push_back(group_report_from_json(group));
  for (const auto& e : document.at("log")) report.log.push_back(episode_from_json(e, EpisodeForm::kLog));
  for (const auto& e : document.at("experiences"))
    report.experiences.push_back({e.at(0), e.at(1), e.at(2), e.at(3), e.at(4), e.at(5)});
  return report;
}

}  // namespace

std::vector<RankStepReport> exchange(RankStepReport mine, ControlPlane& control) {
  std::vector<RankStepReport> ranks;
  for (const json& document : exchange_documents(control, to_json(mine), mine.error))
    ranks.push_back(report_from_json(document));
  // Its own rank keeps the texts, which are not sent.
  ranks[static_cast<size_t>(control.rank())].log = std::move(mine.log);
  return ranks;
}

void append(RankStepReport& report, RankStepReport next) {
  report.interrupted |= next.interrupted;
  report.ledger_lines += next.ledger_lines;
  report.sums += next.sums;
  std::move(next.groups.begin(), next.groups.end(), std::back_inserter(report.groups));
  std::move(next.log.begin(), next.log.end(), std::back_inserter(report.log));
  report.experiences.insert(report.experiences.end(), next.experiences.begin(), next.experiences.end());
}

std::vector<const GroupReport*> groups_in_order(const std::vector<RankStepReport>& ranks) {
  std::vector<const GroupReport*> groups;
  for (const RankStepReport& report : ranks)
    for (const GroupReport& group : report.groups) groups.push_back(&group);
  std::sort(groups.begin(), groups.end(),
            [](const GroupReport* a, const GroupReport* b) { return a->group < b->group; });
  return groups;
}

StepFigures figures_of(const std::vector<RankStepReport>& ranks) {
  std::set<std::string> unique;
  StepFigures figures;
  for (const RankStepReport& rank : ranks) figures.sums += rank.sums;
  for (const GroupReport* group : groups_in_order(ranks)) {
    figures.sums += group->sums;
    unique.insert(group->program_hashes.begin(), group->program_hashes.end());
    for (const auto& [name, count] : group->fault_classes) figures.fault_classes[name] += count;
    for (const auto& [name, sum] : group->reward_terms) figures.reward_terms[name] += sum;
    if (figures.infrastructure_reason.empty()) figures.infrastructure_reason = group->infrastructure_reason;
  }
  for (auto& [name, value] : figures.reward_terms) value /= figures.sums[Sum::kRewarded];
  figures.sums[Sum::kUniquePrograms] = static_cast<double>(unique.size());
  return figures;
}

}  // namespace bicrl
