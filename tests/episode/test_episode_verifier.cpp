// Which successes are verified a second time when a step is scored again, as one is that was made ahead of
// the update: by what counted then.
#include "episode/episode_verifier.h"

#include <catch2/catch_test_macros.hpp>
#include <map>

#include "common/hash.h"

using namespace bicrl;

namespace {

// Every program was verified as its text says, and a second time as well; the second found all incorrect.
class TwiceVerified : public VerdictStore {
 public:
  std::string key_of(const Task& task, const std::string& program) const override {
    const std::string key = hash_hex({task.id, program});
    verdicts_[key] = verdict(program == "correct");
    verdicts_[hash_hex({key, "confirmed"})] = verdict(false);
    return key;
  }
  std::optional<Verdict> find(const std::string& key) override { return verdicts_.at(key); }
  void keep(const std::string&, const Verdict&) override {}
  const MaskedTurn* masked(const EpisodeKey&, int64_t, const std::string&) const override { return nullptr; }

 private:
  static Verdict verdict(bool correct) {
    Verdict verdict;
    verdict.outcome = Outcome::kGraded;
    verdict.correct = correct;
    return verdict;
  }
  mutable std::map<std::string, Verdict> verdicts_;
};

struct Scored {
  bool correct = false;
  int64_t confirmed = 0;
};

// Scored again, after `counted_key` of the program's key counted.
Scored score_again(const std::string& program, const QuarantineSettings& settings,
                   const std::function<std::string(const std::string& key)>& counted_key) {
  Task task;
  task.id = "task";
  TwiceVerified store;
  const Quarantine quarantine(settings);
  EpisodeVerifier verifier(nullptr, &store, {.source = VerdictSource::kStore, .quarantine = &quarantine});
  std::vector<Episode> episodes(1);
  episodes[0].task = &task;
  episodes[0].last().program = program;
  episodes[0].last().counted_key = counted_key(store.key_of(task, program));
  verifier.submit(episodes, 0);
  Scored scored;
  REQUIRE(verifier.confirm(episodes, scored.confirmed));
  scored.correct = episodes[0].last().verdict->correct;
  return scored;
}

const QuarantineSettings kAsksForAll{.first_success = true}, kAsksForNone{.enabled = false};

}  // namespace

TEST_CASE("a step that is scored again counts the verdicts that counted before") {
  const auto first = [](const std::string& key) { return key; };
  const auto second = [](const std::string& key) { return hash_hex({key, "confirmed"}); };
  const Scored as_it_was = score_again("correct", kAsksForAll, first);
  CHECK((as_it_was.correct && as_it_was.confirmed == 0));
  const Scored confirmed = score_again("correct", kAsksForNone, second);
  CHECK((!confirmed.correct && confirmed.confirmed == 1));
}

TEST_CASE("where another verifier's verdict counted before, quarantine decides") {
  const auto other = [](const std::string&) { return std::string("of another verifier"); };
  CHECK(score_again("incorrect", kAsksForAll, other).confirmed == 0);
  CHECK(score_again("correct", kAsksForAll, other).confirmed == 1);
  CHECK(score_again("correct", kAsksForNone, other).correct);
}
