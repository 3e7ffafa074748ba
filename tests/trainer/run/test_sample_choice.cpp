// Which responses of a step are kept for a person to read.
#include "trainer/run/reports/sample_choice.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <random>
#include <string>

namespace bicrl {
namespace {

Episode episode_of(int64_t group, int64_t sample, double reward, const std::string& failure) {
  Episode episode;
  episode.key.group = group;
  episode.key.sample = sample;
  episode.reward.value = reward;
  episode.last().rollout.text = "text";
  episode.last().rollout.finish = FinishReason::kEndToken;
  Verdict verdict;
  verdict.outcome = Outcome::kGraded;
  verdict.fault_class = failure;
  verdict.correct = failure.empty();
  episode.last().verdict = verdict;
  return episode;
}

// Three groups of three: the best is (1, 2), and there are three classes of failures.
std::vector<Episode> step_of_three_groups() {
  return {episode_of(0, 0, 1, ""),        episode_of(0, 1, 0, "race"),        episode_of(0, 2, 0, "compile"),
          episode_of(1, 0, 2, ""),        episode_of(1, 1, 0, "compile"),     episode_of(1, 2, 3, ""),
          episode_of(2, 0, 0, "compile"), episode_of(2, 1, 0, "wrong_value"), episode_of(2, 2, 1, "")};
}

using Indices = std::vector<size_t>;

TEST_CASE("samples of a step are its best response, a failure of each class, and one of each group") {
  const std::vector<Episode> episodes = step_of_three_groups();
  CHECK(choose_samples(episodes, 1, 0).empty());
  CHECK(choose_samples(episodes, 3, 2) == Indices{2, 5});  // the best, and the class whose turn it is
  CHECK(choose_samples(episodes, 1, 2) == Indices{1, 5});
  CHECK(choose_samples(episodes, 2, 2) == Indices{5, 7});
  CHECK(choose_samples(episodes, 1, 4) == Indices{1, 2, 5, 7});
  CHECK(choose_samples(episodes, 1, 99) == Indices{1, 2, 5, 7});
}

TEST_CASE("one sample a step is a failure at every other step, of each class in turn") {
  const std::vector<Episode> episodes = step_of_three_groups();
  for (const int64_t step : {1, 3, 5}) CHECK(choose_samples(episodes, step, 1) == Indices{5});
  CHECK(choose_samples(episodes, 2, 1) == Indices{1});
  CHECK(choose_samples(episodes, 4, 1) == Indices{7});
  CHECK(choose_samples(episodes, 6, 1) == Indices{2});
}

TEST_CASE("samples have a text, and the best of them has a reward") {
  std::vector<Episode> episodes = step_of_three_groups();
  episodes[5].reward.masked = true;
  episodes[3].last().rollout.text.clear();
  episodes[7].last().verdict->outcome = Outcome::kInfrastructure;
  CHECK(choose_samples(episodes, 2, 3) == Indices{0, 1, 2});
  CHECK(choose_samples(episodes, 2, 99) == Indices{0, 1, 2, 4, 6});
  for (Episode& episode : episodes) episode.last().rollout.text.clear();
  CHECK(choose_samples(episodes, 2, 99).empty());
  CHECK(choose_samples({}, 1, 2).empty());
}

TEST_CASE("response that was truncated is a failure without a verdict") {
  std::vector<Episode> episodes = step_of_three_groups();
  episodes.resize(1);
  episodes.push_back(episode_of(0, 1, 0, ""));
  episodes[1].last().verdict.reset();
  CHECK(choose_samples(episodes, 1, 99) == Indices{0});
  episodes[1].last().rollout.finish = FinishReason::kTokenLimit;
  CHECK(choose_samples(episodes, 1, 99) == Indices{0, 1});
}

TEST_CASE("choice among the candidates of several ranks is the choice among all responses") {
  std::mt19937 random(7);
  const auto below = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  for (int trial = 0; trial < 400; ++trial) {
    const int ranks = 1 + below(4), groups = 1 + below(8), classes = 1 + below(6);
    std::vector<Episode> all;
    for (int group = 0; group < groups; ++group)
      for (int sample = 0; sample < 3; ++sample) {
        const bool fails = below(2) == 0;
        Episode& episode = all.emplace_back(
            episode_of(group, sample, below(3), fails ? "class " + std::to_string(below(classes)) : ""));
        episode.reward.masked = below(5) == 0;
        if (below(5) == 0) episode.last().rollout.text.clear();
      }
    for (const int64_t most : {0, 1, 2, 4, 30}) {
      // What rank 0 knows: the texts of its own groups, and those of the others' candidates.
      std::vector<Episode> known = all;
      for (Episode& episode : known)
        if (episode.key.group % ranks != 0) episode.last() = Turn{};
      for (int rank = 1; rank < ranks; ++rank) {
        std::vector<Episode> own;
        std::ranges::copy_if(all, std::back_inserter(own),
                             [&](const Episode& episode) { return episode.key.group % ranks == rank; });
        for (const size_t index : sample_candidates(own, most))
          known[static_cast<size_t>(3 * own[index].key.group + own[index].key.sample)] = own[index];
      }
      for (const int64_t step : {1, 2, 5})
        CHECK(choose_samples(known, step, most) == choose_samples(all, step, most));
    }
  }
}

}  // namespace
}  // namespace bicrl
