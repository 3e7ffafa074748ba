// One rank that collects steps of a tiny policy, with verdicts that are made up. To be included before
// Catch2, as it brings torch.
#pragma once
#include "common/hash.h"
#include "common/rng.h"
#include "tests/support/support.h"
#include "tests/trainer/small_steps.h"
#include "trainer/experience/experience_collector.h"

namespace bicrl::testing {

// A made-up verdict, a function of the program: two thirds are right, one in eleven is lost by the verifier.
inline Verdict verdict_on(const std::string& program) {
  const uint64_t draw = mix_key(1, program);
  Verdict verdict;
  verdict.outcome = draw % 11 == 0 ? Outcome::kInfrastructure : Outcome::kGraded;
  verdict.correct = draw % 11 != 0 && draw % 3 != 0;
  verdict.compiled = verdict.correct || draw % 2 == 0;
  verdict.trials = 3;
  verdict.trials_passed = verdict.correct ? 3 : 0;
  if (verdict.outcome == Outcome::kGraded && !verdict.correct) verdict.fault_class = "wrong_value";
  return verdict;
}

using KnownVerdicts = std::unordered_map<std::string, LedgerEntry>;

inline LedgerEntry entry_of(const Verdict& verdict) {
  return {.round = 0, .rank = 0, .key = "", .verifier = hash_hex("v"), .verdict = verdict};
}

// One rank's collector over a ledger that knows the verdicts of all programs that this policy writes.
struct Rank {
  Rank(ControlPlane& control, const TemporaryFolder& folder, const KnownVerdicts& known,
       const RewardFunction& reward = binary())
      : Rank(control, folder, known, Placement::colocated(control.size()), reward) {}
  Rank(ControlPlane& control, const TemporaryFolder& folder, const KnownVerdicts& known,
       const Placement& placement, const RewardFunction& reward = binary(),
       const CollectorSettings& collected = {.samples_per_task = 4}, const Quarantine* quarantine = nullptr)
      : ledger(folder.path() / "ledger", {"p", "v"}, control),
        verifier(nullptr, &ledger, {.source = VerdictSource::kStore, .quarantine = quarantine}),
        responses(engine, settings, verifier),
        collector(responses, &ledger, reward, control, placement, collected) {
    ledger.resume_at(0);
    ledger.adopt({.verdicts = known});
  }
  DecodingSettings settings = decoding();
  VerdictLedger ledger;
  EpisodeVerifier verifier;
  DecodeEngine engine{policy(), tokenizer()};
  ResponseCollector responses;
  ExperienceCollector collector;
};

// The verdicts on everything that the step generates, by ledger key.
inline KnownVerdicts verdicts_of_step(const std::vector<Task>& tasks, uint64_t key) {
  SingleProcessControl alone;
  const TemporaryFolder folder;
  Rank rank(alone, folder, {});
  KnownVerdicts known;
  for (const Episode& episode : rank.collector.collect(prompted(tasks), key, 0).generated) {
    const std::string program = episode.last().program;
    const Verdict verdict = verdict_on(program);
    const Task& task = tasks.at(static_cast<size_t>(episode.key.group));
    if (verdict.outcome == Outcome::kGraded)
      known.emplace(rank.ledger.key_of(task, program), entry_of(verdict));
  }
  return known;
}

}  // namespace bicrl::testing
