// An episode's fields: each form holds what its readers need, and comes back as it was written.
#include "episode/episode_fields.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/error.h"

using namespace bicrl;
using Catch::Matchers::ContainsSubstring;

namespace {

Episode revised_episode() {
  Episode episode;
  episode.key = {.place = {"end_to_end", 3}, .group = 7, .sample = 2};
  episode.task_id = "task";
  episode.repair = true;
  episode.reward = {
      .value = 0.1, .masked = false, .mask_reason = "", .terms = {{"correct", 1}, {"speedup", 0.1}}};
  episode.advantage = std::nextafter(-0.3, 0);
  episode.is_trained = true;
  for (int i = 0; i < 2; ++i) {
    if (i > 0) episode.turns.emplace_back();
    Turn& turn = episode.last();
    turn.rollout.task_id = "task";
    turn.rollout.policy_version = 4 + i;
    turn.rollout.tokens = {5, 6, 7, 8 + i};
    turn.rollout.prompt_tokens = 2;
    turn.rollout.step_map = {1, -2};
    turn.rollout.log_probs = {-0.1f, std::numeric_limits<float>::denorm_min()};
    if (i > 0)
      turn.rollout.candidates = {.kind = CandidateTerms::kRejected,
                                 .tokens = {0, 1},
                                 .steps = {1, 2},
                                 .excluded = {2, 0},
                                 .ids = {7, 9, 8},
                                 .log_likelihoods = {-0.3f, -0.4f},
                                 .kept_tokens = {0, 1},
                                 .kept_steps = {2, 2},
                                 .kept_counts = {1, 2},
                                 .kept_ids = {7, 8, 9}};
    turn.rollout.finish = i ? FinishReason::kDelimiter : FinishReason::kTokenLimit;
    turn.rollout.tokens_left = 11 * i;
    turn.rollout.text = "text \xff";  // no UTF-8
    turn.rollout.clamped = true;
    turn.rollout.denoise_steps = 9;
    turn.program = "program";
    turn.verdict_key = "key";
    Verdict& verdict = turn.verdict.emplace();
    verdict.outcome = i ? Outcome::kGraded : Outcome::kInfrastructure;
    verdict.compiled = verdict.correct = i;
    turn.straggled = !i;
  }
  return episode;
}

// By way of the bytes that are written.
nlohmann::json written(const Episode& episode, EpisodeForm form) {
  return nlohmann::json::from_cbor(nlohmann::json::to_cbor(to_json(episode, form)));
}

}  // namespace

TEST_CASE("episode sent to another rank comes back whole") {
  const Episode episode = revised_episode();
  const Episode read = episode_from_json(written(episode, EpisodeForm::kRanks), EpisodeForm::kRanks);
  CHECK(read.key == episode.key);
  CHECK(read.task_id == "task");
  CHECK(read.repair);
  CHECK(read.reward.value == episode.reward.value);
  CHECK(read.advantage == episode.advantage);
  CHECK(read.is_trained);
  REQUIRE(read.reward.terms.size() == 2);
  CHECK(read.reward.terms[1].value == 0.1);
  REQUIRE(read.turns.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const Turn &a = read.turns[i], &b = episode.turns[i];
    CHECK(a.rollout.task_id == "task");
    CHECK(a.rollout.policy_version == b.rollout.policy_version);
    CHECK(a.rollout.tokens == b.rollout.tokens);
    CHECK(a.rollout.prompt_tokens == 2);
    CHECK(a.rollout.step_map == b.rollout.step_map);
    CHECK(a.rollout.log_probs == b.rollout.log_probs);
    CHECK(a.rollout.candidates == b.rollout.candidates);
    CHECK(a.rollout.finish == b.rollout.finish);
    CHECK(a.rollout.tokens_left == b.rollout.tokens_left);
    CHECK(a.rollout.text == b.rollout.text);
    CHECK(a.rollout.clamped);
    CHECK(a.rollout.denoise_steps == 9);
    CHECK(a.program == b.program);
    CHECK(a.verdict_key == b.verdict_key);
    REQUIRE(a.verdict);
    CHECK(to_json(*a.verdict) == to_json(*b.verdict));
    CHECK(a.straggled == b.straggled);
  }
  // Nothing is lost on the way: what was read says the same again.
  CHECK(to_json(read, EpisodeForm::kRanks) == to_json(episode, EpisodeForm::kRanks));
}

TEST_CASE("log of an episode is enough to score it again, and holds no text") {
  const Episode episode = revised_episode();
  const nlohmann::json log = written(episode, EpisodeForm::kLog);
  for (const char* key : {"text", "verdict", "terms", "tokens", "turns"}) CHECK_FALSE(log.contains(key));
  const Episode read = episode_from_json(log, EpisodeForm::kLog);
  CHECK(read.last().rollout.tokens_left == 11);
  CHECK(read.key.group == 7);
  CHECK(read.key.sample == 2);
  CHECK(read.task_id == "task");
  CHECK(read.reward.value == 0.1);
  CHECK(read.advantage == episode.advantage);
  CHECK(read.last().verdict_key == "key");
  CHECK_FALSE(read.is_truncated());
  Episode truncated = episode;
  truncated.last().rollout.finish = FinishReason::kTokenLimit;
  CHECK(episode_from_json(written(truncated, EpisodeForm::kLog), EpisodeForm::kLog).is_truncated());
  truncated.last().rollout.finish = FinishReason::kEndToken;  // a clamped answer ends with its delimiter
  CHECK(episode_from_json(written(truncated, EpisodeForm::kLog), EpisodeForm::kLog).is_truncated());
}

TEST_CASE("sample shows the last turn with text, terms and verdict") {
  const nlohmann::json sample = to_json(revised_episode(), EpisodeForm::kSample);
  CHECK(sample.at("phase") == "end_to_end");
  CHECK(sample.at("step") == 3);
  CHECK(sample.at("verdict").at("correct") == true);
  CHECK(sample.at("terms") == nlohmann::json{{"correct", 1.0}, {"speedup", 0.1}});
  CHECK_FALSE(sample.contains("tokens"));
  Episode unverified = revised_episode();
  unverified.last().verdict.reset();
  CHECK(to_json(unverified, EpisodeForm::kSample).at("verdict").is_null());
}

TEST_CASE("saved episode holds what the policy made, and nothing that followed") {
  const nlohmann::json saved = to_json(revised_episode(), EpisodeForm::kSaved);
  for (const char* key : {"reward", "advantage", "masked", "is_trained"}) CHECK_FALSE(saved.contains(key));
  REQUIRE(saved.at("turns").size() == 2);
  for (const char* key : {"verdict", "program", "tokens"}) CHECK_FALSE(saved["turns"][0].contains(key));
  const Episode read = episode_from_json(saved, EpisodeForm::kSaved);
  CHECK(read.repair);
  CHECK(read.turns[1].rollout.policy_version == 5);
  CHECK(read.turns[0].rollout.truncated());
  CHECK_FALSE(read.turns[1].verdict);
}

TEST_CASE("episode with a field that is missing or of another type is refused by name") {
  for (const EpisodeForm form :
       {EpisodeForm::kLog, EpisodeForm::kSample, EpisodeForm::kSaved, EpisodeForm::kRanks}) {
    const nlohmann::json whole = to_json(revised_episode(), form);
    for (const auto& [key, value] : whole.items()) {
      nlohmann::json broken = whole;
      broken.erase(key);
      CHECK_THROWS_WITH(episode_from_json(broken, form), ContainsSubstring(key));
      if (key == "verdict") continue;  // null is a verdict that nobody asked for
      broken[key] = nullptr;
      CHECK_THROWS_WITH(episode_from_json(broken, form), ContainsSubstring(key));
    }
  }
  nlohmann::json broken = to_json(revised_episode(), EpisodeForm::kRanks);
  broken["turns"][1]["finish"] = 17;
  CHECK_THROWS_WITH(episode_from_json(broken, EpisodeForm::kRanks), ContainsSubstring("finish"));
  broken["turns"] = nlohmann::json::array();
  CHECK_THROWS_AS(episode_from_json(broken, EpisodeForm::kRanks), InputError);
  CHECK_THROWS_AS(episode_from_json(nlohmann::json::array(), EpisodeForm::kLog), InputError);
}

TEST_CASE("episode without tokens keeps everything else") {
  const Episode episode = revised_episode();
  nlohmann::json expected = to_json(episode, EpisodeForm::kRanks);
  for (auto& turn : expected["turns"]) {
    turn["prompt_tokens"] = 0;
    for (const char* key : {"tokens", "step_map", "log_probs"}) turn[key] = nlohmann::json::array();
    turn["candidates"] = nullptr;
  }
  CHECK(to_json(without_tokens(episode), EpisodeForm::kRanks) == expected);
}
