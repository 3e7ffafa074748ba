// Saved rollouts come back as they were, and a damaged or missing file is reported by its name.
#include "trainer/experience/rollout_store.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl {
namespace {

using Catch::Matchers::ContainsSubstring;

Rollout rollout_of(const std::string& text, int64_t response_tokens) {
  Rollout r;
  r.policy_version = 7;
  r.prompt_tokens = 2;
  r.tokens = {100, 200};
  for (int64_t i = 0; i < response_tokens; ++i) {
    r.tokens.push_back(150'000 + i);
    r.step_map.push_back(static_cast<int32_t>(i % 2 ? -i : i + 1));
    r.log_probs.push_back(-0.1f * static_cast<float>(i));
  }
  if (response_tokens > 8) {  // others keep no record
    r.candidates.kind = CandidateTerms::kRejected;
    r.candidates.add_excluded(3, 1, {150'000, 7}, -0.25f);
    r.candidates.add_draw(11, 2, 150'001, -4.5f);
    r.candidates.add_kept(11, 2, {6, 150'001});
  }
  r.finish = FinishReason::kDelimiter;
  r.denoise_steps = 3;
  r.text = text;
  return r;
}

Episode episode_of(int64_t group, int64_t sample, const std::string& text, int64_t response_tokens) {
  Episode episode;
  episode.key = {.place = {"infilling", 3}, .group = group, .sample = sample};
  episode.task_id = concat("task ", group);
  episode.repair = group == 1;
  episode.last().rollout = rollout_of(text, response_tokens);
  episode.last().rollout.clamped = group % 2 == 0;
  episode.last().rollout.task_id = episode.task_id;
  return episode;
}

void require_equal(const Episode& a, const Episode& b) {
  CHECK(a.key == b.key);
  CHECK(a.task_id == b.task_id);
  CHECK(a.repair == b.repair);
  REQUIRE(a.turns.size() == b.turns.size());
  for (size_t i = 0; i < a.turns.size(); ++i) {
    const Rollout &x = a.turns[i].rollout, &y = b.turns[i].rollout;
    CHECK(x.task_id == y.task_id);
    CHECK(x.policy_version == y.policy_version);
    CHECK(x.tokens == y.tokens);
    CHECK(x.prompt_tokens == y.prompt_tokens);
    CHECK(x.step_map == y.step_map);
    CHECK(x.log_probs == y.log_probs);
    CHECK(x.candidates == y.candidates);
    CHECK(x.finish == y.finish);
    CHECK(x.denoise_steps == y.denoise_steps);
    CHECK(x.text == y.text);
    CHECK(x.clamped == y.clamped);
  }
}

TEST_CASE("rollouts of several ranks come back by group, as they were") {
  const testing::TemporaryFolder folder;
  const RolloutStore store(folder.path());
  const Episode a = episode_of(0, 0, "first\n\"quoted\" \xC3\xA9", 8);
  const Episode b = episode_of(0, 1, "second", 0);
  Episode c = episode_of(1, 0, "", 4);
  c.turns.push_back({.rollout = rollout_of("its second turn", 8)});
  c.last().rollout.task_id = c.task_id;
  const Episode d = episode_of(2, 0, "third", 12);
  store.write("infilling", 3, 1, 2, {c});
  store.write("infilling", 3, 0, 2, {a, b, d});
  const auto all = store.read("infilling", 3);
  REQUIRE(all.size() == 4);
  require_equal(all[0], a);
  require_equal(all[1], b);
  require_equal(all[2], c);
  require_equal(all[3], d);

  // Taken again by fewer ranks: the other rank's file no longer counts.
  store.write("infilling", 3, 0, 1, {a});
  CHECK(store.read("infilling", 3).size() == 1);
  // A rank without a group still has its file.
  store.write("infilling", 4, 0, 1, {});
  CHECK(store.read("infilling", 4).empty());
}

TEST_CASE("a step that was not saved whole is reported") {
  const testing::TemporaryFolder folder;
  const RolloutStore store(folder.path());
  CHECK_THROWS_WITH(store.read("infilling", 1),
                    ContainsSubstring("infilling-000001/rank-0") && ContainsSubstring("run.save_rollouts"));
  store.write("infilling", 1, 0, 2, {episode_of(0, 0, "x", 4)});
  CHECK_THROWS_WITH(store.read("infilling", 1), ContainsSubstring("rank-1"));
}

TEST_CASE("rollouts damaged at any byte are refused by name") {
  const testing::TemporaryFolder folder;
  const RolloutStore store(folder.path());
  store.write("end_to_end", 12, 0, 1, {episode_of(0, 0, "a program", 4)});
  const auto path = folder.path() / "end_to_end-000012" / "rank-0.safetensors";
  const std::string content = read_file(path);
  for (size_t size = 0; size < content.size(); size += 3) {
    write_file_atomically(path, content.substr(0, size));
    CHECK_THROWS_AS(store.read("end_to_end", 12), InputError);
  }
  for (size_t at = 0; at < content.size(); ++at) {
    std::string damaged = content;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    write_file_atomically(path, damaged);
    try {
      const auto all = store.read("end_to_end", 12);
      // Only blanks that pad the header may change without a trace.
      require_equal(all.at(0), episode_of(0, 0, "a program", 4));
    } catch (const InputError& error) {
      CHECK_THAT(error.what(), ContainsSubstring("rank-0.safetensors"));
    }
  }
}

TEST_CASE("rollouts of another run must suit the policy and the step that takes them") {
  const testing::TemporaryFolder folder;
  const RolloutStore store(folder.path());
  store.write("infilling", 3, 0, 1, {episode_of(0, 0, "first", 4), episode_of(1, 0, "second", 4)});
  CHECK(store.read("infilling", 3, {.vocabulary = 150'004, .tasks_per_step = 2}).size() == 2);
  CHECK(store.read("infilling", 3, {.vocabulary = 150'004, .tasks_per_step = 1, .most_groups = 3}).size() ==
        2);
  const auto refused = [&](const RolloutStore::Expected& expected, const std::string& words) {
    CHECK_THROWS_WITH(store.read("infilling", 3, expected), ContainsSubstring(words));
  };
  refused({.vocabulary = 150'003, .tasks_per_step = 2}, "token 150003 is not in the policy's vocabulary");
  refused({.vocabulary = 150'004, .tasks_per_step = 3}, "infilling step 3 has 2 groups, tasks_per_step is 3");
  refused({.vocabulary = 150'004, .tasks_per_step = 1, .most_groups = 1},
          "infilling step 3 has 2 groups, curation.refill.at_most is 1");
}

}  // namespace
}  // namespace bicrl
