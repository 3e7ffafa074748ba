#include "trainer/evaluation/task_scores.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "trainer/evaluation/evaluated_response.h"
#include "trainer/experience/response_collector.h"
#include "trainer/ranks/document_exchange.h"

namespace bicrl {

namespace {

template <class Number>
void add(Number& sum, const Number& other) {
  sum += other;
}
void add(FaultCounts& sum, const FaultCounts& other) {
  for (const auto& [name, number] : other) sum[name] += number;
}
template <class Value>
void skip(Value&, const Value&) {}

}  // namespace

TaskScore& TaskScore::operator+=(const TaskScore& other) {
#define BICRL_FIELD(type, name, sum, ...) sum(name, other.name);
  BICRL_TASK_SCORE(BICRL_FIELD)
#undef BICRL_FIELD
  return *this;
}

void to_json(nlohmann::json& json, const TaskScore& score) {
#define BICRL_FIELD(type, name, ...) json[#name] = score.name;
  BICRL_TASK_SCORE(BICRL_FIELD)
#undef BICRL_FIELD
}

void from_json(const nlohmann::json& json, TaskScore& score) {
#define BICRL_FIELD(type, name, ...) json.at(#name).get_to(score.name);
  BICRL_TASK_SCORE(BICRL_FIELD)
#undef BICRL_FIELD
}

namespace {

void count_reward(const Episode& episode, const RewardFunction& function, TaskScore& score) {
  const bool truncated = episode.is_truncated() && !function.masks_truncated();
  const Reward reward =
      function.evaluate(*episode.last().verdict, truncated, episode.last().rollout.tokens_left);
  if (reward.masked) return;
  ++score.rewarded;
  score.reward += reward.value;
  score.reward_squares += reward.value * reward.value;
}

void count(const Episode& episode, const EvaluatedResponse& evaluated, const RewardFunction* reward,
           TaskScore& score) {
  const Turn& turn = episode.last();
  if (turn.verdict && turn.verdict->outcome == Outcome::kInvalidTask) {
    score.invalid_task = turn.verdict->diagnostics;
    return;
  }
  if (!turn.is_verified()) {
    ++(turn.verdict && turn.verdict->outcome == Outcome::kUndecided ? score.undecided : score.unverified);
    return;
  }
  const Verdict& verdict = *turn.verdict;
  ++score.verified;
  score.truncated += episode.is_truncated();
  score.compiled += verdict.compiled;
  score.correct += verdict.correct;
  score.reduced += verdict.graded_at == kReducedSize;
  score.novel += evaluated.novel;
  if (!verdict.correct) ++score.fault_classes[verdict.fault_class];
  if (reward) count_reward(episode, *reward, score);
  const double speedup = evaluated.speedup;
  if (speedup <= 0) return;
  const double log_speedup = std::log(speedup);
  score.best_log_speedup = score.timed > 0 ? std::max(score.best_log_speedup, log_speedup) : log_speedup;
  ++score.timed;
  score.fast_1 += speedup > 1;
  score.fast_2 += speedup > 2;
  score.log_speedup += log_speedup;
  score.log_speedup_squares += log_speedup * log_speedup;
}

nlohmann::json entry_of(const Episode& episode) {
  const Turn& turn = episode.last();
  nlohmann::json entry{{"task_id", episode.task_id},
                       {"sample", episode.key.sample},
                       {"truncated", episode.is_truncated()},
                       {"program", turn.program}};
  if (turn.verdict) entry["verdict"] = to_json(*turn.verdict);
  return entry;
}

template <typename Json>
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// What a rank found, for the others.
nlohmann::json share_of(const CollectedResponses& collected, KeptResponses keep,
                        const RewardFunction* reward) {
  std::map<int64_t, TaskScore> scores;
  std::map<int64_t, std::string> lines;
  std::string reason;
  for (const Episode& episode : collected.episodes) {
    const int64_t group = episode.key.group;
    const EvaluatedResponse evaluated = evaluated_response(episode);
    count(episode, evaluated, reward, scores[group]);
    if (keep == KeptResponses::kWithVerdicts) lines[group] += dump(entry_of(episode)) + "\n";
    if (keep == KeptResponses::kEvaluated) lines[group] += dump(to_json(evaluated)) + "\n";
    if (episode.last().is_lost() && reason.empty()) reason = episode.last().verdict->diagnostics;
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& [index, s] : scores)
    rows.push_back({{"task", index}, {"score", s}, {"lines", lines[index]}});
  return {{"rows", rows}, {"reason", reason}, {"tokens", collected.decoding.generated_tokens}};
}

TaskScores merge(const std::vector<nlohmann::json>& ranks, size_t task_count) {
  TaskScores all;
  all.tasks.resize(task_count);
  std::vector<std::string> lines(task_count);
  for (const nlohmann::json& rank : ranks) {
    UnverifiedCount count;
    for (const auto& row : rank.at("rows")) {
      const auto index = row.at("task").get<size_t>();
      TaskScore& task = all.tasks.at(index) = row.at("score").get<TaskScore>();
      // Programs that do not compile fail before the verifier finds that their task is invalid.
      if (!task.invalid_task.empty()) {
        TaskScore nothing;
        nothing.invalid_task = task.invalid_task;
        task = nothing;
      }
      lines[index] = row.at("lines");
      count.responses += task.verified + task.unverified + task.undecided;
      count.unverified += task.unverified;
    }
    all.unverified.push_back(count);
    all.generated_tokens += rank.at("tokens").get<int64_t>();
    if (all.unverified_reason.empty()) all.unverified_reason = rank.at("reason");
  }
  for (const std::string& line : lines) all.responses += line;
  return all;
}

// Of this rank.
std::vector<PromptedGroup> groups_of(const ControlPlane& control, const Placement& placement,
                                     const std::vector<Task>& tasks, const ScoringSettings& settings) {
  std::vector<PromptedGroup> groups;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    if (placement.generator_of(index) != control.rank()) continue;
    groups.push_back(
        {.index = index,
         .task = &tasks[i],
         .prompt = make_prompt(tasks[i], settings.stage, settings.prompt_style, settings.decoding.scaffold)});
  }
  return groups;
}

}  // namespace

TaskScores score_tasks(DecodeEngine& engine, VerifierClient& verifier, VerdictLedger* ledger,
                       ControlPlane& control, const Placement& placement, const std::vector<Task>& tasks,
                       const ScoringSettings& settings) {
  const bool reports = control.rank() == placement.generator_of(0);
  EpisodeVerifier verdicts(&verifier, ledger,
                           {.progress = reports ? "evaluating" : "",
                            .stop_requested = settings.stop_requested,
                            .quarantine = settings.quarantine});
  ResponseCollector collector(engine, settings.decoding, verdicts);
  nlohmann::json mine;
  const std::string error = error_of([&] {
    const CollectedResponses collected = collector.collect(groups_of(control, placement, tasks, settings),
                                                           settings.samples_per_task, settings.key,
                                                           /*policy_version=*/0);
    if (!collected.is_interrupted) mine = share_of(collected, settings.keep, settings.reward);
    mine["interrupted"] = collected.is_interrupted;
  });
  if (ledger) mine["ledger_lines"] = ledger->unshared();
  const std::vector<nlohmann::json> ranks = exchange_documents(control, std::move(mine), error);
  for (const nlohmann::json& rank : ranks)
    if (rank.at("interrupted")) return {.interrupted = true};
  if (ledger) {
    std::vector<std::string> lines;
    for (const nlohmann::json& rank : ranks) lines.push_back(rank.at("ledger_lines"));
    ledger->end_round(lines);
  }
  return merge(ranks, tasks.size());
}

GeneratedResponses generate_responses(DecodeEngine& engine, ControlPlane& control, const Placement& placement,
                                      const std::vector<Task>& tasks, const ScoringSettings& settings) {
  EpisodeVerifier no_verdicts(/*verifier=*/nullptr, /*store=*/nullptr, {.source = VerdictSource::kNone});
  ResponseCollector collector(engine, settings.decoding, no_verdicts);
  nlohmann::json mine;
  const std::string error = error_of([&] {
    const CollectedResponses collected = collector.collect(groups_of(control, placement, tasks, settings),
                                                           settings.samples_per_task, settings.key,
                                                           /*policy_version=*/0);
    std::map<int64_t, std::string> lines;
    for (const Episode& episode : collected.episodes)
      lines[episode.key.group] += dump(entry_of(episode)) + "\n";
    mine = {{"lines", lines}, {"tokens", collected.decoding.generated_tokens}};
  });
  GeneratedResponses all;
  std::map<int64_t, std::string> lines;
  for (const nlohmann::json& rank : exchange_documents(control, std::move(mine), error)) {
    all.generated_tokens += rank.at("tokens").get<int64_t>();
    lines.merge(rank.at("lines").get<std::map<int64_t, std::string>>());
  }
  for (const auto& [task, text] : lines) all.lines += text;
  return all;
}

}  // namespace bicrl
