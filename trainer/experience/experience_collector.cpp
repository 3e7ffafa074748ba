#include "trainer/experience/experience_collector.h"

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/progress_bar.h"
#include "common/rng.h"
#include "rollout/prompt_tokens.h"

namespace bicrl {
namespace {

constexpr double kSilence_s = 30;  // after so long without a verdict a rank says what it waits for
constexpr std::chrono::milliseconds kStopPoll{500};  // so often a rank that waits looks whether to stop
constexpr std::string_view kShuffleStream = "shuffled_advantages";

Verdict unknown_verdict() {
  Verdict verdict;
  verdict.outcome = Outcome::kInfrastructure;
  verdict.diagnostics = "the ledger has no verdict on the program (with this reward's way of measuring)";
  return verdict;
}

}  // namespace

ExperienceCollector::ExperienceCollector(const Transformer& policy, const Tokenizer& tokenizer,
                                         VerifierClient* verifier, const RewardFunction& reward,
                                         Communicator& communicator, CollectorSettings settings)
    : policy_(policy),
      tokenizer_(tokenizer),
      verifier_(verifier),
      reward_(reward),
      communicator_(communicator),
      settings_(std::move(settings)) {}

bool ExperienceCollector::is_mine(size_t task_index) const {
  return static_cast<int>(task_index % communicator_.size()) == communicator_.rank();
}

void ExperienceCollector::submit(size_t index, Response& response) {
  if (settings_.verdicts == VerdictSource::kNone) return;
  if (!reward_.needs_verdict(response.rollout.truncated())) return;
  const Task& task = *response.task;
  const std::string program = extract_program(response.rollout.text);
  if (settings_.ledger) {
    response.verdict_key = settings_.ledger->key_of(task, program);
    response.verdict = settings_.ledger->find(response.verdict_key);
    if (response.verdict) return;
  }
  if (settings_.verdicts == VerdictSource::kLedger) {
    response.verdict = unknown_verdict();
    return;
  }
  verifier_->submit({.request_id = std::to_string(index),
                     .task_id = task.id,
                     .pytorch_code = task.pytorch_code,
                     .program = program});
}

bool ExperienceCollector::receive(std::vector<Response>& responses, bool wait) {
  using namespace std::chrono_literals;
  std::unique_ptr<ProgressBar> bar;
  if (wait && !settings_.progress.empty() && communicator_.rank() == 0)
    bar = std::make_unique<ProgressBar>(settings_.progress, static_cast<int64_t>(responses.size()),
                                        "of this rank");
  Stopwatch silent;
  while (verifier_ && verifier_->pending() > 0) {
    if (bar) bar->set(static_cast<int64_t>(responses.size() - verifier_->pending()));
    if (wait && stop_requested()) return false;
    std::optional<Verdict> verdict = verifier_->next(wait ? kStopPoll : 0ms);
    if (!verdict && !wait) return true;
    if (!verdict) {  // the client's own deadline ends a request that hangs
      if (silent.seconds() < kSilence_s) continue;
      log_info("waiting for verdicts: ", verifier_->waiting_for());
      silent.restart();
      continue;
    }
    silent.restart();
    Response& response = responses.at(std::stoul(verdict->request_id));
    if (settings_.ledger) settings_.ledger->record(response.verdict_key, *verdict);
    response.verdict = std::move(verdict);
  }
  return true;
}

std::vector<ExperienceCollector::Response> ExperienceCollector::generate(
    const std::vector<PromptedTask>& tasks, uint64_t key, int64_t policy_version, StepMetrics& metrics) {
  std::vector<GenerationRequest> requests;
  std::vector<Response> responses;
  for (size_t index = 0; index < tasks.size(); ++index) {
    if (!is_mine(index)) continue;
    const auto& [task, repair] = tasks[index];
    const Prompt prompt =
        repair
            ? make_repair_prompt(*task, settings_.stage, settings_.prompt_style, settings_.scaffold, *repair)
            : make_prompt(*task, settings_.stage, settings_.prompt_style, settings_.scaffold);
    for (int64_t sample = 0; sample < settings_.samples_per_task; ++sample) {
      requests.push_back(make_request(prompt, tokenizer_, static_cast<int64_t>(index),
                                      mix_key({key, index, static_cast<uint64_t>(sample)})));
      responses.emplace_back(index, task);
    }
  }
  Decoder decoder(policy_, tokenizer_, settings_.decoding);
  const DecodingStatistics statistics =
      decoder.generate(requests, policy_version, [&](size_t index, Rollout rollout) {
        responses[index].rollout = std::move(rollout);
        submit(index, responses[index]);
        receive(responses, /*wait=*/false);
      });
  metrics.generated_tokens = statistics.generated_tokens;
  metrics.tokens_per_forward = static_cast<double>(statistics.forwards);  // divided in summarise()
  return responses;
}

bool ExperienceCollector::confirm(std::vector<Response>& responses, StepMetrics& metrics) {
  // The ledger keeps the verdict that counts under a key of its own, so that a program is confirmed once.
  std::map<std::string, std::vector<size_t>> waiting;  // by program and task
  for (size_t i = 0; i < responses.size(); ++i) {
    Response& response = responses[i];
    const std::string program = extract_program(response.rollout.text);
    if (!response.verdict ||
        !settings_.quarantine->needs_confirmation(response.task->id, program, *response.verdict))
      continue;
    ++metrics.quarantined;
    if (settings_.ledger) {
      response.verdict_key = hash_hex({response.verdict_key, "confirmed"});
      if (auto counted = settings_.ledger->find(response.verdict_key)) {
        response.verdict = std::move(counted);
        continue;
      }
    }
    if (settings_.verdicts == VerdictSource::kLedger) {
      response.verdict = unknown_verdict();
      continue;
    }
    auto& alike = waiting[hash_hex({response.task->id, program})];
    if (alike.empty())
      verifier_->submit({.request_id = std::to_string(i),
                         .task_id = response.task->id,
                         .pytorch_code = response.task->pytorch_code,
                         .program = program,
                         .fresh = true});
    alike.push_back(i);
  }
  std::map<size_t, Verdict> seconds;
  while (verifier_ && verifier_->pending() > 0) {
    if (stop_requested()) return false;
    if (auto second = verifier_->next(kStopPoll)) {
      const size_t index = std::stoul(second->request_id);
      seconds.emplace(index, std::move(*second));
    }
  }
  for (const auto& [program, alike] : waiting)
    for (size_t i : alike) {
      Response& response = responses[i];
      response.verdict = settings_.quarantine->confirm(*response.verdict, seconds.at(alike.front()));
      if (settings_.ledger) settings_.ledger->record(response.verdict_key, *response.verdict);
    }
  return true;
}

GroupOutcome ExperienceCollector::outcome_of(const Response* group, size_t size) const {
  GroupOutcome outcome{.task_id = group->task->id, .noted = {}, .failure = std::nullopt};
  std::vector<RepairMember> members;
  for (const Response* response = group; response != group + size; ++response) {
    const bool judged = response->verdict && response->verdict->outcome != Outcome::kInfrastructure;
    const std::string program = extract_program(response->rollout.text);
    if (judged && (response->verdict->correct || response->verdict->fault_class == "unconfirmed"))
      outcome.noted.push_back({program, *response->verdict});
    members.push_back({.program = program,
                       .masked = !judged || response->rollout.truncated(),
                       .verdict = response->verdict.value_or(Verdict{})});
  }
  outcome.failure = repair_material(outcome.task_id, settings_.stage, members);
  return outcome;
}

CollectedStep ExperienceCollector::collect(const std::vector<PromptedTask>& tasks, uint64_t key,
                                           int64_t policy_version, StepMetrics& metrics) {
  const Stopwatch watch;
  std::vector<Response> responses;
  on_every_rank(communicator_, [&] { responses = generate(tasks, key, policy_version, metrics); });
  metrics.rollout_seconds = watch.seconds();
  return judge(std::move(responses), key, metrics);
}

CollectedStep ExperienceCollector::collect_saved(std::vector<SavedRollout> rollouts,
                                                 const std::vector<Task>& tasks, uint64_t key,
                                                 StepMetrics& metrics) {
  std::unordered_map<std::string_view, const Task*> task_of;
  for (const Task& task : tasks) task_of.emplace(task.id, &task);
  std::map<int64_t, int64_t> sizes;
  std::vector<Response> responses;
  for (SavedRollout& saved : rollouts) {
    const auto task = task_of.find(saved.rollout.task_id);
    if (task == task_of.end())
      throw InputError(concat("saved rollouts: group ", saved.group, " answers task ", saved.rollout.task_id,
                              ", which is none of this stage's"));
    ++sizes[saved.group];
    const auto group = static_cast<size_t>(saved.group);
    if (!is_mine(group)) continue;
    responses.emplace_back(group, task->second);
    responses.back().rollout = std::move(saved.rollout);
  }
  for (const auto& [group, size] : sizes)
    if (size != settings_.samples_per_task)
      throw InputError(concat("saved rollouts: group ", group, " has ", size,
                              " responses, samples_per_task is ", settings_.samples_per_task));
  for (size_t i = 0; i < responses.size(); ++i) {
    submit(i, responses[i]);
    receive(responses, /*wait=*/false);
  }
  return judge(std::move(responses), key, metrics);
}

CollectedStep ExperienceCollector::judge(std::vector<Response> responses, uint64_t key,
                                         StepMetrics& metrics) {
  const Stopwatch watch;
  const bool complete =
      receive(responses, /*wait=*/true) && (!settings_.quarantine || confirm(responses, metrics));
  CollectedStep step;
  step.cut_short = on_any_rank(communicator_, !complete);
  if (step.cut_short) return step;
  metrics.verify_wait_seconds = watch.seconds();
  if (settings_.ledger) settings_.ledger->share();

  std::vector<Reward> rewards;
  std::vector<GroupAdvantage> groups;
  for (const Response& response : responses)
    if (settings_.verdicts == VerdictSource::kNone)
      rewards.push_back({.value = 0, .masked = true, .mask_reason = "not verified", .terms = {}});
    else
      rewards.push_back(reward_.evaluate(response.verdict.value_or(Verdict{}), response.rollout.truncated()));
  const auto group_size = static_cast<size_t>(settings_.samples_per_task);
  for (size_t first = 0; first < responses.size(); first += group_size) {
    const std::vector<Reward> members(rewards.begin() + first, rewards.begin() + first + group_size);
    groups.push_back(group_advantage(settings_.advantage, members));
    if (settings_.shuffled_advantages)
      shuffle_advantages(groups.back(), mix_key({mix_key(key, kShuffleStream), responses[first].group}));
    TaskResult result{.task = responses[first].task};
    for (size_t i = 0; i < group_size; ++i) {
      Response& response = responses[first + i];
      const bool judged = response.verdict && response.verdict->outcome != Outcome::kInfrastructure;
      result.counted += judged;
      result.compiled += judged && response.verdict->compiled;
      result.correct += judged && response.verdict->correct;
      step.responses.push_back({.group = static_cast<int64_t>(response.group),
                                .task_id = response.task->id,
                                .verdict_key = response.verdict_key,
                                .truncated = response.rollout.truncated(),
                                .reward = rewards[first + i].value,
                                .masked = rewards[first + i].masked,
                                .advantage = groups.back().advantages[i],
                                .text = response.rollout.text,
                                .terms = rewards[first + i].terms,
                                .verdict = response.verdict});
      if (groups.back().weights[i] > 0)
        step.experiences.push_back({.rollout = response.rollout,
                                    .reward = rewards[first + i].value,
                                    .advantage = groups.back().advantages[i]});
    }
    step.results.push_back(result);
    step.outcomes.push_back(outcome_of(&responses[first], group_size));
  }
  summarise(responses, rewards, groups, metrics);
  for (Response& response : responses)
    step.rollouts.push_back(
        {.group = static_cast<int64_t>(response.group), .rollout = std::move(response.rollout)});
  return step;
}

std::vector<TaskOutcome> outcomes_of(const CollectedStep& step, Communicator& communicator) {
  nlohmann::json mine = nlohmann::json::array();
  for (const TaskResult& result : step.results)
    if (result.counted > 0) mine.push_back({result.task->id, double(result.correct) / result.counted});
  std::vector<TaskOutcome> outcomes;
  for (const std::string& part : communicator.all_gather(mine.dump()))
    for (const auto& [id, pass_rate] :
         nlohmann::json::parse(part).get<std::vector<std::pair<std::string, double>>>())
      outcomes.push_back({id, pass_rate});
  return outcomes;
}

namespace {

// The mean of each term over the `rewarded` responses of all ranks, those that are not masked; what a reward
// is made of.
std::map<std::string, double> mean_terms(const std::vector<Reward>& rewards, double rewarded,
                                         Communicator& communicator) {
  std::map<std::string, double> mine;
  for (const Reward& reward : rewards)
    if (!reward.masked)
      for (const RewardTerm& term : reward.terms) mine[term.name] += term.value;
  std::map<std::string, double> means;
  for (const std::string& part : communicator.all_gather(nlohmann::json(mine).dump()))
    for (const auto& [name, sum] : nlohmann::json::parse(part).get<std::map<std::string, double>>())
      means[name] += sum;
  for (auto& [name, value] : means) value /= rewarded;
  return means;
}

}  // namespace

void ExperienceCollector::summarise(const std::vector<Response>& responses,
                                    const std::vector<Reward>& rewards,
                                    const std::vector<GroupAdvantage>& groups, StepMetrics& m) {
  enum {
    kResponses,
    kCompiled,
    kCorrect,
    kTruncated,
    kMasked,
    kInfrastructure,
    kQuarantined,
    kRewarded,
    kReward,
    kSquares,
    kGroups,
    kFlat,
    kTooFew,
    kTokens,
    kForwards,
    kSums
  };
  std::vector<double> sums(kSums, 0.0);
  std::string hashes;
  std::string classes;
  std::string reason;
  for (size_t i = 0; i < responses.size(); ++i) {
    const Response& response = responses[i];
    sums[kTruncated] += response.rollout.truncated();
    sums[kCompiled] += response.verdict && response.verdict->compiled;
    sums[kCorrect] += response.verdict && response.verdict->correct;
    sums[kMasked] += rewards[i].masked;
    sums[kInfrastructure] += response.verdict && response.verdict->outcome == Outcome::kInfrastructure;
    if (reason.empty() && response.verdict && response.verdict->outcome == Outcome::kInfrastructure)
      reason = response.verdict->diagnostics;
    if (!rewards[i].masked) {
      sums[kRewarded] += 1;
      sums[kReward] += rewards[i].value;
      sums[kSquares] += rewards[i].value * rewards[i].value;
    }
    hashes += hash_hex({response.task->id, response.rollout.text});
    if (response.verdict && !response.verdict->fault_class.empty())
      classes += response.verdict->fault_class + "\n";
  }
  sums[kResponses] = static_cast<double>(responses.size());
  sums[kGroups] = static_cast<double>(groups.size());
  for (const GroupAdvantage& group : groups) {
    sums[kFlat] += group.state == GroupState::kZeroVariance;
    sums[kTooFew] += group.state == GroupState::kTooFew;
  }
  sums[kQuarantined] = static_cast<double>(m.quarantined);
  sums[kTokens] = static_cast<double>(m.generated_tokens);
  sums[kForwards] = m.tokens_per_forward;
  communicator_.all_reduce(sums, Reduction::kSum);

  constexpr size_t kHashDigits = 32;
  std::set<std::string> unique;
  for (const std::string& part : communicator_.all_gather(hashes))
    for (size_t at = 0; at < part.size(); at += kHashDigits) unique.insert(part.substr(at, kHashDigits));
  for (const std::string& part : communicator_.all_gather(classes)) {
    for (size_t at = 0; at < part.size();) {
      const size_t end = part.find('\n', at);
      ++m.fault_classes[part.substr(at, end - at)];
      at = end + 1;
    }
  }
  for (const std::string& part : communicator_.all_gather(reason))
    if (m.infrastructure_reason.empty()) m.infrastructure_reason = part;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0.0; };
  m.responses = std::llround(sums[kResponses]);
  m.unique_programs = static_cast<int64_t>(unique.size());
  // A response cut off by the token limit counts as wrong; of one that the verifier lost nothing is known.
  const double known = sums[kResponses] - sums[kInfrastructure];
  m.compile_rate = share(sums[kCompiled], known);
  m.correct_rate = share(sums[kCorrect], known);
  m.truncated_rate = share(sums[kTruncated], sums[kResponses]);
  m.masked_rate = share(sums[kMasked], sums[kResponses]);
  m.infrastructure_rate = share(sums[kInfrastructure], sums[kResponses]);
  m.quarantined = std::llround(sums[kQuarantined]);
  m.reward_mean = share(sums[kReward], sums[kRewarded]);
  m.reward_spread =
      std::sqrt(std::max(0.0, share(sums[kSquares], sums[kRewarded]) - m.reward_mean * m.reward_mean));
  m.groups = std::llround(sums[kGroups]);
  m.zero_variance_groups = std::llround(sums[kFlat]);
  m.too_few_groups = std::llround(sums[kTooFew]);
  m.reward_terms = mean_terms(rewards, sums[kRewarded], communicator_);
  m.generated_tokens = std::llround(sums[kTokens]);
  m.tokens_per_forward = share(sums[kTokens], sums[kForwards]);
}

}  // namespace bicrl
