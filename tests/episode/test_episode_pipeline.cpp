// The path of episodes through the pipeline's stages, with a generator and a store of verdicts made up here.
#include "episode/episode_pipeline.h"

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "common/hash.h"
#include "episode/group_scorer.h"

using namespace bicrl;

namespace {

// Answers from last to first, as those that end early do.
class BackwardGenerator : public EpisodeGenerator {
 public:
  explicit BackwardGenerator(size_t ends_after = 1000) : ends_after_(ends_after) {}
  GenerationEnd generate(std::vector<Episode>& episodes, const OnAnswer& on_answer) override {
    for (size_t i = episodes.size(); i-- > 0;) {
      if (episodes.size() - i > ends_after_) return {.is_complete = false};
      Rollout& rollout = episodes[i].last().rollout;
      rollout.text = "answer " + std::to_string(i % 2);
      rollout.clamped = true;
      rollout.finish = FinishReason::kDelimiter;
      on_answer(i);
    }
    return {.lent_seconds = 0};
  }

 private:
  size_t ends_after_;
};

// Revises answers whose verdict was not correct, once; the revised ones are "answer 0".
class RevisingGenerator : public EpisodeGenerator {
 public:
  GenerationEnd generate(std::vector<Episode>& episodes, const OnAnswer& on_answer) override {
    for (size_t i = 0; i < episodes.size(); ++i) {
      Rollout& rollout = episodes[i].last().rollout;
      if (!rollout.text.empty()) continue;
      rollout.text = "answer " + std::to_string(episodes[i].turns.size() == 1 ? i % 2 : 0);
      rollout.clamped = true;
      on_answer(i);
    }
    return {};
  }
  bool begin_next_turn(std::vector<Episode>& episodes) override {
    size_t begun = 0;
    for (Episode& episode : episodes)
      if (episode.turns.size() == 1 && !episode.last().is_correct()) {
        episode.turns.emplace_back();
        ++begun;
      }
    return begun > 0;
  }
};

// Knows that "answer 0" is correct and "answer 1" is not; gives up the second turn of one episode.
class KnownVerdicts : public VerdictStore {
 public:
  std::string key_of(const Task& task, const std::string& program) const override {
    return task.id + program;
  }
  std::optional<Verdict> find(const std::string& key) override {
    Verdict verdict;
    verdict.outcome = Outcome::kGraded;
    verdict.compiled = true;
    verdict.correct = key.ends_with("0");
    if (!verdict.correct) verdict.fault_class = "wrong_value";
    return key.ends_with("confirmed") ? std::nullopt : std::optional(verdict);
  }
  void keep(const std::string&, const Verdict&) override {}
  const MaskedTurn* masked(const EpisodeKey& episode, int64_t turn, const std::string&) const override {
    masked_.verdict.outcome = Outcome::kInfrastructure;
    return episode.group == 1 && episode.sample == 1 && turn == 0 ? &masked_ : nullptr;
  }

 private:
  mutable MaskedTurn masked_;
};

std::vector<Episode> episodes_of(const Task& task, const StepPlace& place = {"end_to_end", 1}) {
  std::vector<Episode> episodes;
  for (const int64_t group : {1, 4})
    for (int64_t sample = 0; sample < 3; ++sample)
      episodes.push_back({.key = {place, group, sample}, .task = &task, .task_id = task.id});
  return episodes;
}

Task some_task() {
  Task task;
  task.id = "task";
  return task;
}

}  // namespace

TEST_CASE("episodes pass generation, verification and scoring, and sinks get them as they come") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  BackwardGenerator generator;
  std::vector<int64_t> answered, verified;
  std::vector<size_t> group_sizes;
  const PipelineResult result = run_pipeline(
      episodes_of(task),
      {.generator = &generator,
       .verifier = &verifier,
       .score =
           [&](std::span<Episode> group) {
             group_sizes.push_back(group.size());
             for (Episode& e : group) e.reward.value = e.last().is_correct() ? 1 : -1;
           },
       .on_answer = [&](const Episode& e) { answered.push_back(10 * e.key.group + e.key.sample); },
       .on_verdict = [&](const Episode& e) { verified.push_back(10 * e.key.group + e.key.sample); }});
  CHECK_FALSE(result.is_interrupted);
  CHECK(answered == std::vector<int64_t>{42, 41, 40, 12, 11, 10});
  CHECK(verified == answered);
  CHECK(group_sizes == std::vector<size_t>{3, 3});
  REQUIRE(result.episodes.size() == 6);
  for (size_t i = 0; i < 6; ++i) {
    const Turn& turn = result.episodes[i].last();
    CHECK(turn.program == "answer " + std::to_string(i % 2));
    CHECK(turn.verdict_key == "task" + turn.program);
    CHECK(turn.is_lost() == (i == 1));  // the store says that it was left without a verdict in this step
    CHECK(result.episodes[i].reward.value == (i % 2 == 0 ? 1 : -1));
  }
}

TEST_CASE("a generator revises answers once their verdicts are there, and the last turn is scored") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  RevisingGenerator generator;
  std::vector<int64_t> verified;
  const PipelineResult result = run_pipeline(
      episodes_of(task, {}),
      {.generator = &generator,
       .verifier = &verifier,
       .score =
           [](std::span<Episode> group) {
             for (Episode& e : group) e.reward.value = e.last().is_correct() ? 1 : -1;
           },
       .on_verdict = [&](const Episode& e) { verified.push_back(10 * e.key.group + e.key.sample); }});
  CHECK(verified == std::vector<int64_t>{10, 11, 12, 40, 41, 42, 11, 40, 42});
  for (size_t i = 0; i < result.episodes.size(); ++i) {
    const Episode& episode = result.episodes[i];
    REQUIRE(episode.turns.size() == 1 + i % 2);
    CHECK(episode.turns.front().is_correct() == (i % 2 == 0));
    CHECK(episode.last().is_correct());
    CHECK(episode.reward.value == 1);
  }
}

TEST_CASE("turn is left without a verdict in its own step alone") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  BackwardGenerator generator;
  const auto result = run_pipeline(episodes_of(task, {}), {.generator = &generator, .verifier = &verifier});
  for (const Episode& episode : result.episodes) CHECK(episode.last().is_verified());
}

TEST_CASE("generation that a stop ended is not scored") {
  const Task task = some_task();
  BackwardGenerator generator(2);
  int scored = 0, answered = 0;
  const PipelineResult result =
      run_pipeline(episodes_of(task), {.generator = &generator,
                                       .score = [&](std::span<Episode>) { ++scored; },
                                       .on_answer = [&](const Episode&) { ++answered; }});
  CHECK(result.is_interrupted);
  CHECK(answered == 2);
  CHECK(scored == 0);
}

TEST_CASE("programs that are there already are verified as they are") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  std::vector<Episode> episodes = episodes_of(task);
  for (Episode& episode : episodes) episode.last().program = "program 0";
  const PipelineResult result = run_pipeline(std::move(episodes), {.verifier = &verifier});
  CHECK(result.episodes[0].last().program == "program 0");
  CHECK(result.episodes[0].last().is_correct());
}

TEST_CASE("verdict of an earlier verification does not count where none is asked for") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier all(nullptr, &known, {.source = VerdictSource::kStore});
  EpisodeVerifier none(
      nullptr, &known,
      {.source = VerdictSource::kStore, .needs_verdict = [](const Episode&) { return false; }});
  BackwardGenerator generator;
  PipelineResult first = run_pipeline(episodes_of(task), {.generator = &generator, .verifier = &all});
  CHECK(first.episodes[0].last().verdict.has_value());
  const PipelineResult again = run_pipeline(std::move(first.episodes), {.verifier = &none});
  for (const Episode& episode : again.episodes) {
    CHECK_FALSE(episode.last().verdict);
    CHECK(episode.last().verdict_key.empty());
  }
}

TEST_CASE("scored group reports its figures, outcome and advantages") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  BackwardGenerator generator;
  const RewardFunction reward = RewardFunction::from_text("rule: binary\n", "reward.yaml");
  const GroupScorer scorer(reward, {.imitates = true}, 1);
  std::vector<GroupReport> reports;
  const auto result =
      run_pipeline(episodes_of(task),
                   {.generator = &generator, .verifier = &verifier, .score = [&](std::span<Episode> group) {
                      reports.push_back(scorer.score(group));
                    }});
  REQUIRE(reports.size() == 2);
  // Of the first group the second response is lost: two correct ones are left, which teach nothing.
  CHECK(reports[0].group == 1);
  CHECK(reports[0].sums[Sum::kLost] == 1);
  CHECK(reports[0].sums[Sum::kKnown] == 2);
  CHECK(reports[0].sums[Sum::kZeroVariance] == 1);
  REQUIRE(reports[0].task_outcome);
  CHECK(reports[0].task_outcome->pass_rate == 1);
  for (size_t i = 0; i < 3; ++i) CHECK_FALSE(result.episodes[i].is_trained);
  // Of the second the middle one is correct.
  CHECK(reports[1].sums[Sum::kCorrect] == 1);
  CHECK(reports[1].fault_classes == std::map<std::string, int64_t>{{"wrong_value", 2}});
  CHECK(reports[1].task_outcome->pass_rate == 1.0 / 3);
  REQUIRE(reports[1].group_outcome);
  REQUIRE(reports[1].group_outcome->reward);
  CHECK(reports[1].group_outcome->reward->best.has_value());
  for (size_t i = 3; i < 6; ++i) {
    CHECK(result.episodes[i].is_trained);
    CHECK((result.episodes[i].advantage > 0) == (i == 4));
    CHECK(result.episodes[i].reward.value == (i == 4));
  }
}

TEST_CASE("group of equal rewards stays in the update where it is kept, and counts as uninformative") {
  const Task task = some_task();
  KnownVerdicts known;
  EpisodeVerifier verifier(nullptr, &known, {.source = VerdictSource::kStore});
  BackwardGenerator generator;
  const RewardFunction reward = RewardFunction::from_text("rule: binary\n", "reward.yaml");
  const GroupScorer scorer(reward, {.advantage = {.keeps_equal = true}}, 1);
  StepSums sums;
  const auto result =
      run_pipeline(episodes_of(task),
                   {.generator = &generator, .verifier = &verifier, .score = [&](std::span<Episode> group) {
                      sums += scorer.score(group).sums;
                    }});
  CHECK(sums[Sum::kZeroVariance] == 1);
  CHECK(sums[Sum::kKept] == 1);
  CHECK(sums[Sum::kInformative] == 1);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(result.episodes[i].is_trained == !result.episodes[i].reward.masked);
    CHECK(result.episodes[i].advantage == 0);
  }
}
