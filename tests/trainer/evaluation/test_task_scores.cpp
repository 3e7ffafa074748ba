// Held-out responses: what counts, by a verifier that grades by the program's text.
#include "tests/trainer/small_steps.h"
#include "trainer/evaluation/task_scores.h"

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <nlohmann/json.hpp>

#include "common/rng.h"
#include "tests/support/held_grader.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::WithinAbs;

namespace {

TaskScore score(HeldGrader& grader, const Quarantine* quarantine, const RewardFunction* reward = nullptr) {
  VerifierClientOptions options;
  options.addresses = {grader.address()};
  VerifierClient client(options);
  SingleProcessControl alone;
  DecodeEngine engine(policy(), tokenizer());
  const std::vector<Task> tasks = five_tasks();
  ScoringSettings settings;
  settings.decoding = decoding();
  settings.samples_per_task = 4;
  settings.key = 7;
  settings.quarantine = quarantine;
  settings.reward = reward;
  TaskScore sum;
  for (const TaskScore& task :
       score_tasks(engine, client, nullptr, alone, Placement::colocated(1), tasks, settings).tasks)
    sum += task;
  return sum;
}

}  // namespace

TEST_CASE("evaluation confirms successes as training does") {
  HeldGrader grader;
  const TaskScore plain = score(grader, nullptr);
  CHECK(plain.verified == 20);
  CHECK(plain.correct > 5);
  QuarantineSettings settings;
  settings.first_success = true;
  const Quarantine quarantine(settings);
  CHECK(score(grader, &quarantine).correct == plain.correct);
  grader.is_refused = [](const HeldGrader::Question& asked) { return asked.fresh; };
  const TaskScore unconfirmed = score(grader, &quarantine);
  CHECK(unconfirmed.correct == 0);
  CHECK(unconfirmed.unverified == plain.correct);
}

TEST_CASE("what cannot be graded is nobody's fault") {
  HeldGrader grader;
  grader.other_outcome = [](const HeldGrader::Question&) { return Outcome::kUndecided; };
  const TaskScore undecided = score(grader, nullptr);
  CHECK(undecided.undecided == 20);
  CHECK(undecided.unverified == 0);
  CHECK(undecided.verified == 0);
  // Of a task that can never be graded those that fail before anybody sees it count as little as the others.
  std::atomic<int> faults = 0;
  grader.other_outcome = [&](const HeldGrader::Question& asked) {
    const bool fails = mix_key(2, asked.program) % 4 == 0;
    faults += fails;
    return fails ? Outcome::kCandidateFault : Outcome::kInvalidTask;
  };
  const TaskScore invalid = score(grader, nullptr);
  CHECK(faults > 0);
  CHECK(invalid.verified == 0);
  CHECK(invalid.fault_classes.empty());
}

TEST_CASE("held-out reward counts truncated responses by their verdict where the reward masks them") {
  HeldGrader grader;
  const TaskScore plain = score(grader, nullptr);
  CHECK(plain.rewarded == 0);
  CHECK(plain.truncated > 0);
  for (const char* truncated : {"score", "mask"}) {
    const auto reward =
        RewardFunction::from_text(concat("rule: binary\ntruncated: ", truncated, "\n"), "r.yaml");
    const TaskScore rewarded = score(grader, nullptr, &reward);
    CHECK(rewarded.rewarded == 20);
    CHECK_THAT(rewarded.reward, WithinAbs(static_cast<double>(plain.correct), 1e-9));
  }
  const auto penalised =
      RewardFunction::from_text("rule: binary\ntruncated: penalise\ntruncated_value: -2\n", "r.yaml");
  const TaskScore rewarded = score(grader, nullptr, &penalised);
  CHECK(rewarded.rewarded == 20);
  CHECK(rewarded.reward <
        -2.0 * static_cast<double>(plain.truncated) + static_cast<double>(plain.correct) + 1e-9);
}

TEST_CASE("a sum of scores adds every field but those of one task") {
  nlohmann::json fields = TaskScore();
  int number = 0;
  for (auto& [name, value] : fields.items())
    if (value.is_number()) value = ++number;
  fields["fault_classes"] = {{"wrong_value", 2}, {"crash", 1}};
  fields["invalid_task"] = "no reference";
  REQUIRE(number == 17);
  TaskScore sum = fields.get<TaskScore>();
  TaskScore other;
  other.fault_classes = {{"crash", 3}};
  sum += sum;
  sum += other;
  const nlohmann::json added = sum;
  REQUIRE(added.size() == fields.size());
  for (const auto& [name, value] : fields.items()) {
    INFO(name);
    if (name == "fault_classes")
      CHECK(added[name] == nlohmann::json{{"wrong_value", 4}, {"crash", 5}});
    else if (name == "invalid_task" || name == "best_log_speedup")
      CHECK(added[name] == value);
    else
      CHECK(added[name].get<double>() == 2 * value.get<double>());
  }
}
