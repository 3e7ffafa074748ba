// The samples of a step come to the rank that writes them, with what the others know of them.
#include "trainer/run/reports/sample_gathering.h"

#include "tests/trainer/ranks/thread_ranks.h"
#include "tests/trainer/small_steps.h"

// Behind torch, whose headers define CHECK as well.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "episode/episode_fields.h"
#include "trainer/run/reports/sample_choice.h"

namespace bicrl {
namespace {

using testing::tokenizer;

constexpr int64_t kGroups = 6, kSamples = 2, kBlockTokens = 4;

Episode episode_of(int64_t group, int64_t sample) {
  Episode episode;
  episode.key = {.place = {.phase = "end_to_end", .step = 3}, .group = group, .sample = sample};
  episode.task_id = concat("task", group);
  episode.reward.value = static_cast<double>((5 * group + sample) % 7);
  episode.reward.terms = {{"correct", 1.0}};
  Turn& turn = episode.last();
  const std::vector<int64_t> prompt = tokenizer().encode("ask"),
                             answer = tokenizer().encode(concat("answer ", group, ".", sample));
  turn.rollout.tokens = prompt;
  turn.rollout.tokens.insert(turn.rollout.tokens.end(), answer.begin(), answer.end());
  turn.rollout.prompt_tokens = std::ssize(prompt);
  turn.rollout.step_map.assign(answer.size(), 1);
  turn.rollout.log_probs.assign(answer.size(), -0.254f);
  turn.rollout.text = tokenizer().decode(answer);
  turn.rollout.finish = FinishReason::kEndToken;
  turn.verdict_key = concat("key", group, sample);
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.correct = (group + sample) % 2 == 0;
  if (!verdict.correct) verdict.fault_class = group < 3 ? "race" : "compile";
  turn.verdict = verdict;
  return episode;
}

// What rank 0 writes of the step's samples where group i is of rank `first` + i % (ranks - first).
std::vector<std::string> samples_of(int ranks, int first, int64_t step, int64_t most) {
  std::vector<std::string> written;
  testing::on_ranks(ranks, [&](ControlPlane& control) {
    std::vector<Episode> own, log;
    for (int64_t group = 0; group < kGroups; ++group)
      for (int64_t sample = 0; sample < kSamples; ++sample) {
        const Episode whole = episode_of(group, sample);
        const bool is_own = control.rank() == first + group % (ranks - first);
        if (is_own) own.push_back(whole);
        // As ranks know those of others.
        log.push_back(is_own ? without_tokens(whole)
                             : episode_from_json(to_json(whole, EpisodeForm::kLog), EpisodeForm::kLog));
      }
    const auto tokens = gather_samples(
        own, {.most = most, .tokenizer = tokenizer(), .block_tokens = kBlockTokens}, control, log);
    if (control.rank() != 0) return;
    for (const size_t index : choose_samples(log, step, most)) {
      nlohmann::json sample = to_json(log[index], EpisodeForm::kSample);
      sample["prompt"] = tokens.at(log[index].key).prompt;
      sample["denoising"] = to_json(tokens.at(log[index].key).denoising);
      written.push_back(sample.dump());
    }
  });
  return written;
}

}  // namespace

TEST_CASE("samples of a step are the same for any number of ranks, and where rank 0 generates nothing") {
  for (const int64_t most : {1, 2, 4, 20})
    for (const int64_t step : {1, 2, 3}) {
      const std::vector<std::string> alone = samples_of(1, 0, step, most);
      CHECK(alone.size() == static_cast<size_t>(std::min(most, kGroups)));
      CHECK(samples_of(2, 0, step, most) == alone);
      CHECK(samples_of(3, 0, step, most) == alone);
      CHECK(samples_of(2, 1, step, most) == alone);
      CHECK(samples_of(4, 2, step, most) == alone);
    }
}

TEST_CASE("step without samples gathers none") { CHECK(samples_of(3, 0, 1, 0).empty()); }

}  // namespace bicrl
