// From prompts to experiences on several ranks: equal figures whatever their number, one exchange a step.
#include <ATen/ATen.h>
#include <ATen/SequenceNumber.h>

#include "common/error.h"
#include "episode/episode_fields.h"
#include "tests/trainer/collecting_rank.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/experience/experience_collector.h"
#include "trainer/experience/experience_exchange.h"
#include "trainer/update/policy_updater.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "common/hash.h"
#include "common/rng.h"
#include "policy/distribution.h"
#include "tests/support/support.h"

using namespace bicrl;
using namespace bicrl::testing;

TEST_CASE("a step comes out the same on any number of ranks, by one exchange") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, 7);
  std::vector<CollectedStep> first;  // of rank 0, by number of ranks
  for (int ranks : {1, 2, 3}) {
    const TemporaryFolder folder;
    std::vector<CollectedStep> steps(static_cast<size_t>(ranks));
    const int64_t set_up = on_ranks(ranks, [&](ControlPlane& control) { Rank(control, folder, known); });
    const TemporaryFolder another;
    const int64_t collectives = on_ranks(ranks, [&](ControlPlane& control) {
      Rank rank(control, another, known);
      steps[static_cast<size_t>(control.rank())] = rank.collector.collect(prompted(tasks), 7, 0);
      // Ranks are threads, and Catch2's assertions are for one.
      BICRL_CHECK(rank.ledger.round() == 1 && rank.ledger.size() == known.size());
    });
    CHECK(collectives - set_up == 1);
    int64_t experiences = 0, rollouts = 0;
    for (const CollectedStep& step : steps) {
      CHECK(step.figures[Figure::kResponses] == 20);
      CHECK(step.figures[Figure::kRewardMean] == steps.front().figures[Figure::kRewardMean]);
      CHECK(step.log.size() == 20);
      REQUIRE(step.shares.size() == static_cast<size_t>(ranks));
      experiences += static_cast<int64_t>(step.experiences.size());
      rollouts += static_cast<int64_t>(step.generated.size());
    }
    CHECK(experiences > 0);
    CHECK(rollouts == 20);
    first.push_back(std::move(steps.front()));
  }
  const StepFigures& alone = first.front().figures;
  CHECK(alone[Figure::kLostRate] > 0);
  CHECK(alone[Figure::kCorrectRate] > 0.2);
  CHECK(alone[Figure::kCorrectRate] < 1);
  for (const CollectedStep& step : first) {
    const StepFigures& m = step.figures;
    CHECK(m[Figure::kUniquePrograms] == alone[Figure::kUniquePrograms]);
    CHECK(m[Figure::kUniqueCorrect] == alone[Figure::kUniqueCorrect]);
    CHECK(m[Figure::kCorrectRate] == alone[Figure::kCorrectRate]);
    CHECK(m[Figure::kCompileRate] == alone[Figure::kCompileRate]);
    CHECK(m[Figure::kLostRate] == alone[Figure::kLostRate]);
    CHECK(m[Figure::kMaskedRate] == alone[Figure::kMaskedRate]);
    CHECK_THAT(m[Figure::kRewardMean], Catch::Matchers::WithinAbs(alone[Figure::kRewardMean], 1e-12));
    CHECK_THAT(m[Figure::kRewardSpread], Catch::Matchers::WithinAbs(alone[Figure::kRewardSpread], 1e-12));
    CHECK(m.fault_classes == alone.fault_classes);
    CHECK(m[Figure::kZeroVariance] == alone[Figure::kZeroVariance]);
    CHECK(m[Figure::kGenerated] == alone[Figure::kGenerated]);
    std::map<std::string, double> rates, expected;
    for (const TaskOutcome& o : step.task_outcomes) rates[o.task_id] = o.pass_rate;
    for (const TaskOutcome& o : first.front().task_outcomes) expected[o.task_id] = o.pass_rate;
    CHECK(rates == expected);
    std::map<std::string, double> spreads, expected_spreads;
    for (const TaskOutcome& o : step.task_outcomes) spreads[o.task_id] = o.reward_deviation;
    for (const TaskOutcome& o : first.front().task_outcomes) expected_spreads[o.task_id] = o.reward_deviation;
    CHECK(spreads == expected_spreads);
    for (size_t i = 0; i < step.log.size(); ++i) {
      CHECK(step.log[i].last().verdict_key == first.front().log[i].last().verdict_key);
      CHECK(step.log[i].advantage == first.front().log[i].advantage);
    }
  }
}

TEST_CASE("a step reports how far a task's rewards differ, and how many correct programs are distinct") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, 7);
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, known);
  const CollectedStep step = rank.collector.collect(prompted(tasks), 7, 0);
  std::map<std::string, std::set<std::string>> correct;
  std::map<std::string, std::vector<double>> rewards;
  for (const Episode& episode : step.log) {
    if (episode.last().is_correct())
      correct[episode.task_id].insert(extract_program(episode.last().rollout.text));
    if (!episode.reward.masked) rewards[episode.task_id].push_back(episode.reward.value);
  }
  double distinct = 0;
  for (const auto& [task, programs] : correct) distinct += static_cast<double>(programs.size());
  CHECK(distinct > 0);
  CHECK(step.figures[Figure::kUniqueCorrect] == distinct / 5);
  bool any = false;
  for (const TaskOutcome& outcome : step.task_outcomes) {
    const std::vector<double>& values = rewards[outcome.task_id];
    if (values.size() < 2) continue;
    double mean = 0, squares = 0;
    for (const double value : values) mean += value / static_cast<double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    CHECK_THAT(outcome.reward_deviation,
               Catch::Matchers::WithinAbs(std::sqrt(squares / static_cast<double>(values.size())), 1e-12));
    any |= outcome.reward_deviation > 0;
  }
  CHECK(any);
}

namespace {

// The step of every rank.
std::vector<CollectedStep> steps_of(const Placement& placement, const std::vector<Task>& tasks,
                                    const KnownVerdicts& known, int64_t policy_version = 0) {
  const TemporaryFolder folder;
  std::vector<CollectedStep> steps(static_cast<size_t>(placement.ranks()));
  on_ranks(placement.ranks(), [&](ControlPlane& control) {
    Rank rank(control, folder, known, placement);
    steps[static_cast<size_t>(control.rank())] = rank.collector.collect(prompted(tasks), 7, policy_version);
  });
  return steps;
}

bool same(const Episode& a, const Episode& b) {
  return to_json(a, EpisodeForm::kSample) == to_json(b, EpisodeForm::kSample);
}

}  // namespace

TEST_CASE("trainers of a split step get what as many colocated ranks make themselves") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, 7);
  for (int trainers : {1, 2, 3}) {
    const std::vector<CollectedStep> expected = steps_of(Placement::colocated(trainers), tasks, known);
    for (int generators : {1, 2, 6}) {  // of six some have no group
      const auto placement = Placement::split(trainers + generators, generators);
      const std::vector<CollectedStep> steps = steps_of(placement, tasks, known);
      size_t generated = 0;
      for (int rank = 0; rank < placement.ranks(); ++rank) {
        const CollectedStep& step = steps[static_cast<size_t>(rank)];
        generated += step.generated.size();
        CHECK(step.generated.empty() != (placement.generates(rank) && rank < trainers + 5));
        CHECK(step.figures[Figure::kRewardMean] == expected[0].figures[Figure::kRewardMean]);
        CHECK(step.figures[Figure::kRewardSpread] == expected[0].figures[Figure::kRewardSpread]);
        REQUIRE(step.shares.size() == static_cast<size_t>(trainers));
        REQUIRE(step.task_outcomes.size() == expected[0].task_outcomes.size());
        for (size_t i = 0; i < step.task_outcomes.size(); ++i)
          CHECK(step.task_outcomes[i].task_id == expected[0].task_outcomes[i].task_id);
        if (!placement.trains(rank)) {
          CHECK(step.experiences.empty());
          continue;
        }
        const CollectedStep& like = expected[static_cast<size_t>(rank)];
        REQUIRE(step.experiences.size() == like.experiences.size());
        REQUIRE(step.shares[static_cast<size_t>(rank)].size() == like.experiences.size());
        for (size_t i = 0; i < like.experiences.size(); ++i) {
          const Experience &a = step.experiences[i], &b = like.experiences[i];
          CHECK((a.group == b.group && a.sample == b.sample && a.advantage == b.advantage &&
                 a.reward == b.reward));
          CHECK((a.rollout.tokens == b.rollout.tokens && a.rollout.step_map == b.rollout.step_map &&
                 a.rollout.log_probs == b.rollout.log_probs && a.rollout.text == b.rollout.text &&
                 a.rollout.prompt_tokens == b.rollout.prompt_tokens && a.rollout.finish == b.rollout.finish));
        }
        REQUIRE(step.log.size() == like.log.size());
        for (size_t i = 0; i < like.log.size(); ++i) CHECK(same(step.log[i], like.log[i]));
      }
      CHECK(generated == 20);
    }
  }
}

TEST_CASE("an update takes no experience of another version of the policy than it may") {
  const std::vector<Task> tasks = five_tasks();
  const auto steps =
      steps_of(Placement::split(2, 1), tasks, verdicts_of_step(tasks, 7), /*policy_version=*/4);
  const std::vector<Experience>& experiences = steps[0].experiences;
  REQUIRE_FALSE(experiences.empty());
  require_versions(experiences, 4, 4);
  require_versions(experiences, 3, 5);
  CHECK_THROWS_WITH(require_versions(experiences, 5, 5),
                    Catch::Matchers::ContainsSubstring("was made by version 4 of the policy") &&
                        Catch::Matchers::ContainsSubstring("takes version 5"));
  CHECK_THROWS_WITH(require_versions(experiences, 2, 3),
                    Catch::Matchers::ContainsSubstring("takes versions 2 to 3"));
}

TEST_CASE("where a stage imitates, ranks tell each group's best response") {
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, 7);
  // This policy hardly ever ends by itself: of each group the first is cut off, the others are said to have
  // ended.
  std::vector<Episode> saved = [&] {
    SingleProcessControl alone;
    const TemporaryFolder folder;
    return Rank(alone, folder, known).collector.collect(prompted(tasks), 7, 0).generated;
  }();
  for (size_t i = 0; i < saved.size(); ++i)
    saved[i].last().rollout.finish = i % 4 == 0 ? FinishReason::kTokenLimit : FinishReason::kEndToken;
  const auto scored = [&](int ranks, const CollectorSettings& settings, uint64_t key = 7) {
    const TemporaryFolder folder;
    std::vector<CollectedStep> steps(static_cast<size_t>(ranks));
    on_ranks(ranks, [&](ControlPlane& control) {
      Rank rank(control, folder, known, Placement::colocated(ranks), binary(), settings);
      steps[static_cast<size_t>(control.rank())] = rank.collector.collect_saved(saved, tasks, key);
    });
    return steps;
  };
  const auto rewards_of = [](const CollectedStep& step) {
    nlohmann::json rewards = nlohmann::json::array();
    for (const GroupOutcome& outcome : step.group_outcomes)
      if (outcome.reward) rewards.push_back(to_json(*outcome.reward));
    return rewards;
  };
  CHECK(rewards_of(scored(1, {.samples_per_task = 4})[0]).empty());
  const CollectedStep alone = scored(1, {.samples_per_task = 4, .scoring = {.imitates = true}})[0];
  for (const CollectedStep& step : scored(3, {.samples_per_task = 4, .scoring = {.imitates = true}}))
    CHECK(rewards_of(step) == rewards_of(alone));

  // Right responses that came to an end, by task.
  std::map<std::string, std::set<std::vector<int64_t>>> correct, any;
  std::map<std::string, std::pair<double, double>> sums;
  for (const Episode& episode : alone.generated) {
    if (episode.reward.masked) continue;
    sums[episode.task_id].first += episode.reward.value;
    sums[episode.task_id].second += 1;
    if (episode.is_truncated()) continue;
    const auto tokens = response_tokens(episode.last().rollout).response;
    any[episode.task_id].insert(tokens);
    if (episode.last().is_correct()) correct[episode.task_id].insert(tokens);
  }
  size_t best = 0;
  for (const GroupOutcome& outcome : alone.group_outcomes) {
    REQUIRE(outcome.reward);
    const auto [sum, count] = sums.at(outcome.task_id);
    CHECK_THAT(outcome.reward->mean, Catch::Matchers::WithinAbs(sum / count, 1e-12));
    CHECK(outcome.reward->best.has_value() == correct.contains(outcome.task_id));
    if (!outcome.reward->best) continue;
    ++best;
    CHECK(outcome.reward->best->reward == 1);
    CHECK(correct.at(outcome.task_id).contains(outcome.reward->best->tokens.response));
  }
  CHECK(best > 0);

  // The control keeps what is imitated apart from what rewards say.
  bool has_incorrect = false;
  for (uint64_t key = 1; key <= 6; ++key) {
    const auto shuffled = scored(
        1, {.samples_per_task = 4, .scoring = {.advantage = {.shuffled = true}, .imitates = true}}, key)[0];
    for (const GroupOutcome& outcome : shuffled.group_outcomes)
      if (outcome.reward && outcome.reward->best) {
        const auto& shown = outcome.reward->best->tokens.response;
        CHECK(any.at(outcome.task_id).contains(shown));
        CHECK((outcome.reward->mean == 0 && outcome.reward->best->reward == 1));
        has_incorrect |= !correct[outcome.task_id].contains(shown);
      }
  }
  CHECK(has_incorrect);
}

TEST_CASE("a rank that cannot generate ends the step on all ranks with its reason") {
  std::vector<Task> tasks = five_tasks();
  tasks[1].pytorch_code = std::string(400, 'x');  // does not fit the policy; rank 1 of 3 meets it
  std::atomic<int> informed = 0;
  const TemporaryFolder folder;
  on_ranks(3, [&](ControlPlane& control) {
    Rank rank(control, folder, {});
    try {
      rank.collector.collect(prompted(tasks), 7, 0);
    } catch (const SharedError& error) {
      const std::string message = error.what();
      informed += message.find("rank 1: ") == 0 && message.find("task1") != std::string::npos;
    }
  });
  CHECK(informed == 3);
}

TEST_CASE("a repair is counted, and not as its task's pass rate") {
  const std::vector<Task> tasks = five_tasks();
  auto groups = prompted(tasks);
  groups[2].repair = FailedAttempt{.program = "old", .fault_class = "compile", .diagnostics = "no"};
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, {});
  const auto known = [&] {
    KnownVerdicts known;
    for (const Episode& episode : rank.collector.collect(groups, 7, 0).generated) {
      Verdict verdict;
      verdict.outcome = Outcome::kGraded;
      verdict.correct = true;
      known.emplace(
          rank.ledger.key_of(tasks.at(static_cast<size_t>(episode.key.group)), episode.last().program),
          entry_of(verdict));
    }
    return known;
  }();
  rank.ledger.adopt({.verdicts = known});
  const CollectedStep step = rank.collector.collect(groups, 7, 0);
  CHECK(step.figures[Figure::kRepairs] == 1);
  CHECK(step.figures[Figure::kCorrectRate] == 1);
  REQUIRE(step.task_outcomes.size() == 4);
  for (const TaskOutcome& outcome : step.task_outcomes) CHECK(outcome.task_id != "task2");
}

TEST_CASE("the reward's floor under the deviation of a group is in the advantages") {
  // Rewards are 0 and 1: their deviation is at most 1/2, so the floor is what a z-score divides by.
  const RewardFunction floored =
      RewardFunction::from_text("rule: binary\ntruncated: score\nmin_deviation: 10\n", "test");
  const std::vector<Task> tasks = five_tasks();
  const auto known = verdicts_of_step(tasks, 7);
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, known, floored);
  const CollectedStep step = rank.collector.collect(prompted(tasks), 7, 0);
  std::map<int64_t, std::vector<double>> rewards;
  for (const Episode& episode : step.log)
    if (!episode.reward.masked) rewards[episode.key.group].push_back(episode.reward.value);
  REQUIRE_FALSE(step.experiences.empty());
  for (const Experience& experience : step.experiences) {
    const std::vector<double>& group = rewards.at(experience.group);
    const double mean = std::accumulate(group.begin(), group.end(), 0.0) / static_cast<double>(group.size());
    CHECK_THAT(experience.advantage, Catch::Matchers::WithinRel((experience.reward - mean) / 10, 1e-12));
  }
}

TEST_CASE("generation between updates builds no graph") {
  Transformer trained = Transformer::random(policy().config(), 3, at::kCPU, at::kFloat);
  SingleProcessControl alone;
  SingleProcessTensors tensors;
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-3;
  PolicyUpdater updater(trained, allowed_ids(trained.config(), tokenizer().size(), at::kCPU), settings, alone,
                        tensors);
  const auto nodes_made = [](const std::function<void()>& work) {
    const uint64_t before = at::sequence_number::peek();
    work();
    return at::sequence_number::peek() - before;
  };
  std::vector<Experience> experiences(2);
  const auto generate = [&] {
    GenerationRequest request;
    request.prompt_tokens = {1, 2, 3, 4, 5};
    DecodeEngine(trained, tokenizer()).generate(decoding(), {request}, 0, [&](size_t, Rollout rollout) {
      for (Experience& e : experiences) e.rollout = rollout;
    });
  };
  CHECK(nodes_made(generate) == 0);
  experiences[0].advantage = 1;
  const auto update = [&] { updater.reinforce(experiences, {shares_of(experiences)}); };
  CHECK(nodes_made(update) > 50);
  CHECK(nodes_made(generate) == 0);
}

TEST_CASE("a task that can never be graded is reported to every rank, and no loss of the verifier's") {
  const std::vector<Task> tasks = five_tasks();
  auto known = verdicts_of_step(tasks, 7);
  {
    SingleProcessControl alone;
    const TemporaryFolder folder;
    Rank rank(alone, folder, {});
    for (const Episode& episode : rank.collector.collect(prompted(tasks), 7, 0).generated) {
      if (episode.key.group != 3) continue;
      Verdict fault;
      fault.outcome = Outcome::kInvalidTask;
      fault.compiled = true;  // that of its task was found behind its compiler
      fault.diagnostics = "its reference raises";
      known[rank.ledger.key_of(tasks[3], episode.last().program)] = entry_of(fault);
    }
  }
  for (int ranks : {1, 2}) {
    const TemporaryFolder folder;
    std::vector<CollectedStep> steps(static_cast<size_t>(ranks));
    std::vector<nlohmann::json> states(static_cast<size_t>(ranks));
    on_ranks(ranks, [&](ControlPlane& control) {
      Rank rank(control, folder, known);
      const auto at = static_cast<size_t>(control.rank());
      steps[at] = rank.collector.collect(prompted(tasks), 7, 0);
      Curation curation({});
      BICRL_CHECK(curation.note(steps[at].group_outcomes).size() == 1, "listed once");
      BICRL_CHECK(curation.note(steps[at].group_outcomes).empty(), "and not again");
      states[at] = curation.state();
    });
    double compiled = 0, judged = 0;
    for (const CollectedStep& step : steps)
      for (const Episode& episode : step.generated) {
        judged += episode.last().is_verified();
        compiled += episode.last().is_verified() && episode.last().verdict->compiled;
      }
    for (const CollectedStep& step : steps) {
      CHECK(step.figures[Figure::kCompileRate] == compiled / judged);
      CHECK(step.figures[Figure::kInvalidTaskRate] == 0.2);
      CHECK(step.figures[Figure::kMaskedRate] >= 0.2);
      int64_t lost = 0;
      for (const UnverifiedCount& rank : step.unverified) lost += rank.unverified;
      CHECK(lost < 5);
      for (const TaskOutcome& outcome : step.task_outcomes) CHECK(outcome.task_id != "task3");
    }
    for (const auto& state : states) {
      Curation resumed({});
      resumed.restore(state);
      CHECK(resumed.invalid_tasks() == 1);
      CHECK(resumed.is_invalid("task3"));
      CHECK_FALSE(resumed.is_invalid("task2"));
    }
  }
}

TEST_CASE("pass rates treat truncated responses as the reward does") {
  const std::vector<Task> tasks = five_tasks();
  SingleProcessControl alone;
  // Of each group, by the response's text, how many of its four responses are truncated; all programs are
  // right.
  const auto outcomes = [&](const std::string& truncated) {
    const RewardFunction reward =
        RewardFunction::from_text("rule: binary\ntruncated: " + truncated + "\n", "reward.yaml");
    const TemporaryFolder folder;
    Rank rank(alone, folder, {}, reward);
    KnownVerdicts known;
    std::map<std::string, int> cut_off;
    for (const Episode& episode : rank.collector.collect(prompted(tasks), 7, 0).generated) {
      const Task& task = tasks.at(static_cast<size_t>(episode.key.group));
      Verdict verdict;
      verdict.outcome = Outcome::kGraded;
      verdict.correct = true;
      known.emplace(rank.ledger.key_of(task, episode.last().program), entry_of(verdict));
      cut_off[task.id] += episode.is_truncated();
    }
    rank.ledger.adopt({.verdicts = known});
    std::map<std::string, double> rates;
    for (const TaskOutcome& outcome : rank.collector.collect(prompted(tasks), 7, 0).task_outcomes)
      rates[outcome.task_id] = outcome.pass_rate;
    return std::pair(rates, cut_off);
  };
  const auto [scored, cut_off] = outcomes("score");
  const auto masked = outcomes("mask").first, penalised = outcomes("penalise").first;
  int truncated = 0;
  for (const Task& task : tasks) {
    const int count = cut_off.at(task.id);
    truncated += count;
    CHECK(scored.at(task.id) == 1);
    CHECK(penalised.at(task.id) == 1 - count / 4.0);
    CHECK(masked.contains(task.id) == (count < 4));
    if (count < 4) CHECK(masked.at(task.id) == 1);
  }
  CHECK(truncated > 0);
}

TEST_CASE("share without a verdict is of the responses that a verdict was asked for") {
  const std::vector<Task> tasks = five_tasks();
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, {});  // an empty ledger: whoever asks gets no verdict
  // As with masked truncated responses: one in two is not asked about.
  int64_t number = 0;
  EpisodeVerifier verifier(
      nullptr, &rank.ledger,
      {.source = VerdictSource::kStore, .needs_verdict = [&](const Episode&) { return ++number % 2 == 0; }});
  ResponseCollector responses(rank.engine, rank.settings, verifier);
  ExperienceCollector collector(responses, &rank.ledger, binary(), alone, Placement::colocated(1),
                                {.samples_per_task = 4});
  const CollectedStep step = collector.collect(prompted(tasks), 7, 0);
  CHECK(step.figures[Figure::kResponses] == 20);
  REQUIRE(step.unverified.size() == 1);
  CHECK(step.unverified[0].responses == 10);
  CHECK(step.unverified[0].unverified == 10);
  CHECK_FALSE(unverified_problem(step.unverified, 0.9).empty());
}
