// Steps that are generated before the step before them is trained.
#include "tests/trainer/collecting_rank.h"
#include "tests/trainer/ranks/thread_ranks.h"
#include "trainer/experience/steps_ahead.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

using namespace bicrl;
using namespace bicrl::testing;

namespace {

CollectedStep made_at(int64_t version, bool interrupted = false) {
  CollectedStep step;
  step.interrupted = interrupted;
  step.figures.sums[Sum::kGenerated] = 10.0 + static_cast<double>(version);
  step.log.resize(2);
  step.log[1].last().verdict_key = concat("key ", version);
  return step;
}

CollectedStep not_asked(const GeneratedAhead& ahead) {
  throw Error(concat("step ", ahead.step, " is collected again"));
}

}  // namespace

TEST_CASE("step k is generated with the weights that step k - max_staleness began with") {
  for (const int64_t staleness : {0, 1, 2, 4, 8}) {
    constexpr int64_t kLast = 12;
    StepsAhead ahead(staleness);
    for (int64_t step = 1; step <= kLast; ++step) {
      // Its own version is its number.
      int64_t version = step;
      if (!ahead.empty()) {
        version = ahead.next_version();
        CHECK(ahead.take(not_asked).figures.sums[Sum::kGenerated] == 10.0 + static_cast<double>(version));
      }
      CHECK(version == std::max<int64_t>(1, step - staleness));
      for (const int64_t next : ahead.due(step, kLast)) ahead.add(next, step, made_at(step));
    }
    CHECK(ahead.empty());
  }
}

TEST_CASE("a run that goes on takes the same steps ahead, and collects again those whose verdicts it lacks") {
  StepsAhead ahead(3);
  ahead.add(2, 1, made_at(1));
  ahead.add(3, 1, made_at(1));
  ahead.add(4, 1, made_at(1, /*interrupted=*/true));
  const nlohmann::json state = nlohmann::json::parse(ahead.state().dump());
  StepsAhead resumed(3);
  resumed.restore(state);
  CHECK(resumed.state() == state);
  CHECK(resumed.due(2, 9) == std::vector<int64_t>{5});
  std::vector<std::pair<int64_t, size_t>> again;  // step, verdicts that are noted
  const auto collect = [&](const GeneratedAhead& step) {
    again.emplace_back(step.step, step.verdict_keys.size());
    return made_at(90);
  };
  CHECK(resumed.next_version() == 1);
  CHECK(resumed.take(collect).figures.sums[Sum::kGenerated] == 11);
  CHECK(again == std::vector<std::pair<int64_t, size_t>>{{2, 2}, {3, 2}, {4, 0}});
  // Should it be interrupted once more, step 4 has its verdicts now.
  CHECK(resumed.state().back().at("step") == 4);
  CHECK(resumed.state().back().at("verdict_keys").size() == 2);
  resumed.take(not_asked);
  resumed.take(not_asked);
  CHECK(resumed.empty());
  CHECK(resumed.state().is_null());

  StepsAhead stopped(3);
  stopped.restore(state);
  CHECK(stopped.take([](const GeneratedAhead&) { return made_at(1, /*interrupted=*/true); }).interrupted);
}

TEST_CASE("saved rollouts go with the last checkpoint that needs them") {
  StepsAhead ahead(2);
  for (const int64_t step : {2, 3}) ahead.add(step, 1, made_at(1));
  CHECK(ahead.unneeded({1}).empty());
  ahead.take(not_asked);
  ahead.add(4, 2, made_at(2));
  CHECK(ahead.unneeded({1, 2}).empty());
  // A checkpoint after step 2 goes on with steps 3 and 4.
  CHECK(ahead.unneeded({2}) == std::vector<int64_t>{2});
  CHECK(ahead.unneeded({2}).empty());
  ahead.take(not_asked);
  CHECK(ahead.unneeded({2, 3}).empty());
  CHECK(ahead.unneeded({}) == std::vector<int64_t>{3});
  ahead.take(not_asked);
  CHECK(ahead.unneeded({}) == std::vector<int64_t>{4});
}

TEST_CASE("a step that is collected again counts the verdicts that counted before later successes") {
  const std::vector<Task> tasks = five_tasks();
  KnownVerdicts known = verdicts_of_step(tasks, 7);
  Verdict unconfirmed;
  unconfirmed.outcome = Outcome::kGraded;
  unconfirmed.fault_class = "unconfirmed";
  KnownVerdicts seconds;
  for (const auto& [key, entry] : known)
    if (entry.verdict.correct) seconds.emplace(hash_hex({key, "confirmed"}), entry_of(unconfirmed));
  REQUIRE_FALSE(seconds.empty());
  known.merge(seconds);
  Quarantine quarantine({.first_success = true});
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, known, Placement::colocated(1), binary(), {.samples_per_task = 4}, &quarantine);
  const auto rewards_of = [](const CollectedStep& step) {
    std::vector<std::pair<std::string, double>> rewards;
    for (const Episode& episode : step.log)
      rewards.emplace_back(episode.last().verdict_key, episode.reward.value);
    return rewards;
  };
  const CollectedStep step = rank.collector.collect(prompted(tasks), 7, 0);
  std::vector<std::string> keys;
  for (const Episode& episode : step.log) keys.push_back(episode.last().verdict_key);

  Verdict correct;
  correct.outcome = Outcome::kGraded;
  correct.correct = true;
  for (const Task& task : tasks) quarantine.note(task.id, "of a later step", correct);
  CHECK(rewards_of(rank.collector.collect_saved(step.generated, tasks, 7)) != rewards_of(step));
  CHECK(rewards_of(rank.collector.collect_saved(step.generated, tasks, 7, {}, keys)) == rewards_of(step));
  keys.pop_back();
  CHECK_THROWS_AS(rank.collector.collect_saved(step.generated, tasks, 7, {}, keys), InputError);
}
