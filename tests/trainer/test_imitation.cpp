#include "trainer/experience/imitation.h"

#include "common/error.h"
#include "episode/curation.h"
#include "episode/group_scorer.h"
#include "tests/trainer/fixtures.h"
#include "tests/trainer/small_steps.h"
#include "trainer/update/policy_updater.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

BestResponses two_responses() {
  BestResponses best;
  for (const int64_t token : {3, 4})
    best.note({.task_id = concat("task ", token),
               .stage = Stage::kEndToEnd,
               .mean = 1,
               .best = GroupReward::Best{2, {.prompt = {1, 2, 1}, .response = {token, token, 5}}}});
  return best;
}

ImitationSettings imitation_settings(const std::string& yaml) {
  const ConfigDocument document = ConfigDocument::from_text(yaml, "run.yaml");
  const ImitationSettings settings = ImitationSettings::from_config(document.root());
  document.finish();
  return settings;
}

}  // namespace

TEST_CASE("what is imitated of a rollout ends with its end token") {
  Rollout rollout;
  rollout.tokens = {7, 8, 9, 10, 11, 2, 0, 0};
  rollout.prompt_tokens = 3;
  rollout.step_map = {1, 2, 2, -3, -3};
  const ResponseTokens tokens = response_tokens(rollout);
  CHECK(tokens.prompt == std::vector<int64_t>{7, 8, 9});
  CHECK(tokens.response == std::vector<int64_t>{10, 11, 2});
}

TEST_CASE("a step's imitated batches are the same on any number of ranks") {
  const PolicyConfig config = tiny_config(4);
  const BestResponses best = two_responses();
  const ImitationSettings settings = imitation_settings("{updates: 3, samples: 7}");
  const auto draw = [&](int ranks, int rank, uint64_t key = 11) {
    return imitated_batches(best, {}, Stage::kEndToEnd, settings, config, Placement::colocated(ranks), rank,
                            key);
  };
  const auto alone = draw(1, 0);
  REQUIRE(alone.size() == 3);
  for (size_t update = 0; update < alone.size(); ++update) {
    CHECK(alone[update].mine.size() == 7);
    CHECK(alone[update].supervised_tokens == 7 * 3);
    size_t samples = 0;
    std::vector<SftSample> joined(7);
    for (int rank = 0; rank < 2; ++rank) {
      const SupervisedBatch batch = draw(2, rank)[update];
      CHECK(batch.supervised_tokens == alone[update].supervised_tokens);
      size_t next = 0;
      for (int64_t i = 0; i < 7; ++i)
        if (Placement::colocated(2).trainer_of(i) == rank)
          joined[static_cast<size_t>(i)] = batch.mine[next++];
      samples += batch.mine.size();
    }
    CHECK(samples == 7);
    for (size_t i = 0; i < 7; ++i) {
      CHECK(joined[i].tokens == alone[update].mine[i].tokens);
      CHECK(joined[i].noise_key == alone[update].mine[i].noise_key);
    }
  }
  CHECK(alone[0].mine[0].noise_key != alone[1].mine[0].noise_key);
  CHECK(draw(1, 0, 12)[0].mine[0].noise_key != alone[0].mine[0].noise_key);
  CHECK(imitated_batches(best, {}, Stage::kInfilling, settings, config, Placement::colocated(1), 0, 11)
            .empty());
}

TEST_CASE("a share of what is imitated is known, and either kind stands for the other that is missing") {
  const PolicyConfig config = policy().config();
  std::vector<Task> tasks = five_tasks();
  for (Task& task : tasks) {
    task.cuda_code = "plain";
    task.alternatives.resize(2);
    task.alternatives[0].cuda_code = "better";
    task.alternatives[1].cuda_code = "best";
  }
  tasks[0].cuda_code.clear();  // nobody knows a program
  const auto known_of = [&](KnownPrograms programs) {
    return KnownSamples(tasks, programs, Stage::kEndToEnd, PromptStyle::kCompact, Scaffold::kClamp,
                        tokenizer(), config);
  };
  const auto programs_of = [&](const KnownSamples& known, const BestResponses& best, double share) {
    std::map<std::string, int> counts;
    ImitationSettings settings = imitation_settings("{updates: 2, samples: 200}");
    settings.known_share = share;
    for (const SupervisedBatch& batch :
         imitated_batches(best, known, Stage::kEndToEnd, settings, config, Placement::colocated(1), 0, 3))
      for (const SftSample& sample : batch.mine) {
        const auto begin = sample.tokens.begin() + sample.prompt_tokens;
        ++counts[tokenizer().decode({begin, begin + sample.response_tokens - 1})];
      }
    return counts;
  };
  const BestResponses best = two_responses(), none;
  const auto of_all = programs_of(known_of(KnownPrograms::kAll), none, 0.5);
  CHECK(of_all.size() == 3);
  CHECK(programs_of(known_of(KnownPrograms::kFirst), none, 0.1) ==
        std::map<std::string, int>{{"plain", 400}});
  const auto mixed = programs_of(known_of(KnownPrograms::kBest), best, 0.25);
  CHECK(mixed.size() == 3);
  CHECK((mixed.at("best") > 70 && mixed.at("best") < 130));
  CHECK(programs_of({}, best, 0.25).size() == 2);
  CHECK(programs_of({}, none, 0.25).empty());
  CHECK(programs_of(known_of(KnownPrograms::kBest), none, 0).empty());
  // How many programs a response of so many tokens cannot be.
  const KnownSamples known = known_of(KnownPrograms::kAll);
  CHECK(known.programs() == 12);  // three of each task but one
  CHECK(known.longer_than(0) == 12);
  const auto tokens = static_cast<int64_t>(tokenizer().encode("plain").size());
  CHECK(known_of(KnownPrograms::kFirst).longer_than(tokens) == 4);  // and their end token
  CHECK(known_of(KnownPrograms::kFirst).longer_than(tokens + 1) == 0);
}

TEST_CASE("imitation makes a response likelier, and each of its updates counts in the schedule") {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 2, at::kFloat);
  OneRank alone;
  const auto document = ConfigDocument::from_text(
      "{learning_rate: 1.0e-2, learning_rate_decay: linear, min_learning_rate: 0.0}", "test.yaml");
  const UpdaterSettings settings = UpdaterSettings::reinforced(document.root(), 1.0, /*steps=*/2,
                                                               /*responses_per_step=*/12, 7, /*imitated=*/3);
  CHECK(settings.updates_per_step == 4);
  PolicyUpdater updater(policy, tiny_allowed(config), settings, alone.control, alone.tensors);
  const auto experiences = random_experiences(config, 3, &policy);
  const auto imitated =
      imitated_batches(two_responses(), {}, Stage::kEndToEnd, imitation_settings("{updates: 3, samples: 8}"),
                       config, Placement::colocated(1), 0, 5);
  const auto step = [&](const std::vector<SupervisedBatch>& batches) {
    const UpdateTotals totals = updater.reinforce(experiences, {shares_of(experiences)}, batches);
    return over_ranks(totals, alone.control);
  };
  const UpdateStatistics first = step(imitated);
  CHECK(first[UpdateRow::kUpdates] == 4);
  CHECK(first[UpdateRow::kImitationUpdates] == 3);
  CHECK_THAT(first[UpdateRow::kLearningRate], Catch::Matchers::WithinRel(1e-2 * (1 - 3.0 / 7), 0.2));
  const UpdateStatistics second = step(imitated);
  // Their rows go through the head as well.
  CHECK(first[UpdateRow::kScoredRows] > first[UpdateRow::kTrainedTokens]);
  CHECK(second[UpdateRow::kImitationLoss] < first[UpdateRow::kImitationLoss] - 0.1);
  CHECK(second[UpdateRow::kLearningRate] < first[UpdateRow::kLearningRate]);
  // Figures per token are of responses alone.
  CHECK(second[UpdateRow::kTrainedTokens] == first[UpdateRow::kTrainedTokens]);
  CHECK(step({})[UpdateRow::kImitationUpdates] == 0);
}

TEST_CASE("what curation knows of rewards travels between ranks and into checkpoints") {
  GroupOutcome outcome{.task_id = "a", .noted = {}, .failure = std::nullopt};
  CHECK(outcome.empty());
  outcome.reward = GroupReward{.task_id = "a",
                               .stage = Stage::kEndToEnd,
                               .mean = 0.1,
                               .best = GroupReward::Best{1.5, {.prompt = {1}, .response = {2, 3}}}};
  CHECK_FALSE(outcome.empty());
  const GroupOutcome arrived = group_outcome_from_json(nlohmann::json::parse(to_json(outcome).dump()));
  REQUIRE(arrived.reward);
  CHECK(to_json(*arrived.reward) == to_json(*outcome.reward));
  Curation first({}), second({});
  first.note({arrived});
  second.restore(nlohmann::json::parse(first.state().dump()));
  REQUIRE(second.best().draw(1, Stage::kEndToEnd));
  CHECK(second.best().draw(1, Stage::kEndToEnd)->response == std::vector<int64_t>{2, 3});
}

TEST_CASE("successes that were not confirmed and invalid tasks are imitated no more") {
  const auto outcome_of = [](const std::string& task) {
    GroupOutcome outcome{.task_id = task, .noted = {}, .failure = std::nullopt};
    outcome.reward = GroupReward{.task_id = task,
                                 .stage = Stage::kEndToEnd,
                                 .mean = 0,
                                 .best = GroupReward::Best{1, {.prompt = {1}, .response = {2, 3}}}};
    return outcome;
  };
  Curation curation({});
  curation.reward_by("rewards");
  curation.note({outcome_of("a"), outcome_of("b"), outcome_of("c")});
  CHECK(curation.best().size(Stage::kEndToEnd) == 3);
  GroupOutcome unconfirmed{.task_id = "a", .noted = {}, .failure = std::nullopt};
  unconfirmed.noted.push_back({"program", Verdict{}});
  curation.note({unconfirmed});
  curation.note_invalid_task("b", "the reference is random");
  CHECK(curation.best().size(Stage::kEndToEnd) == 1);

  // A state that is refused changes nothing; one from before there were best responses has none.
  nlohmann::json state = curation.state(), before = state;
  state["best"]["entries"] = 3;
  CHECK_THROWS_AS(curation.restore(state), InputError);
  CHECK(curation.state() == before);
  before.erase("best");
  curation.restore(before);
  CHECK(curation.best().size(Stage::kEndToEnd) == 0);

  // Going on with the same rewards keeps them, with others they compare with nothing.
  curation.note({outcome_of("d")});
  curation.reward_by("rewards");
  CHECK(curation.best().size(Stage::kEndToEnd) == 1);
  curation.reward_by("others");
  CHECK(curation.best().size(Stage::kEndToEnd) == 0);
}

TEST_CASE("imitation's keys without effect are refused, and those that are unknown") {
  CHECK(imitation_settings("{}").updates == 0);
  CHECK(imitation_settings("{updates: 2}").samples == 32);
  CHECK_THROWS_WITH(imitation_settings("{samples: 8}"),
                    ContainsSubstring("samples") && ContainsSubstring("updates: 0"));
  CHECK(imitation_settings("{updates: 1, known_share: 0.5, known: all}").known == KnownPrograms::kAll);
  CHECK_THROWS_WITH(imitation_settings("{updates: 1, known: best}"), ContainsSubstring("known_share: 0"));
  CHECK_THROWS_WITH(imitation_settings("{updates: 1, known_share: 0.5, known: most}"),
                    ContainsSubstring("most"));
  CHECK_THROWS_WITH(imitation_settings("{updates: 1, samples: 0}"), ContainsSubstring("samples"));
  CHECK_THROWS_WITH(imitation_settings("{updates: 1, weight: 0.5}"), ContainsSubstring("unknown key weight"));
}
