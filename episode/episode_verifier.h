// Verdicts on the last turns of episodes: from what is known already, from verifiers, or from another run's
// ledger. Nothing here is collective.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "episode/episode.h"
#include "episode/verdict_store.h"
#include "reward/client/verifier_client.h"
#include "reward/quarantine.h"

namespace bicrl {

enum class VerdictSource {
  kVerifier,  // asked for if the store does not know them
  kStore,     // taken from the store; a program that it does not know stays without a verdict
  kNone,
};

struct VerificationSettings {
  VerdictSource source = VerdictSource::kVerifier;
  std::string progress{};                               // label of a bar on the terminal; empty: none
  std::function<bool(const Episode&)> needs_verdict{};  // empty: all do
  std::function<bool()> stop_requested{};               // looked at while verdicts are waited for
  // How long verdicts are waited for once all are asked for, and second verifications again, before those
  // that are missing are given up; 0: until the client ends their requests.
  double straggler_deadline_s = 0;
  const Quarantine* quarantine = nullptr;  // may be null: every verdict counts as it is
};

// Refers to what it is given and owns nothing. Not thread-safe.
class EpisodeVerifier {
 public:
  // `verifier` may be null if verdicts do not come from one, `store` if they are neither kept nor reused.
  // Episodes of a step that the store says were left without a verdict are left without one again.
  EpisodeVerifier(VerifierClient* verifier, VerdictStore* store, VerificationSettings settings)
      : verifier_(verifier), store_(store), settings_(std::move(settings)) {}

  // Called with an episode's place when its verdict has come.
  using OnVerdict = std::function<void(size_t index)>;

  // Asks for the verdict of episodes[index], or takes it from the store.
  void submit(std::vector<Episode>& episodes, size_t index);
  // Asked for, and not there yet.
  int64_t pending() const { return verifier_ ? static_cast<int64_t>(verifier_->pending()) : 0; }
  // Takes the verdicts that are ready, without waiting.
  void take_ready(std::vector<Episode>& episodes, const OnVerdict& on_verdict = {});
  // Waits until no verdict is pending; says what it waits for if none comes for long. At the deadline gives
  // up those that are missing. False if a stop ended the waiting.
  bool wait(std::vector<Episode>& episodes, const OnVerdict& on_verdict = {});
  // Has successes that are too good verified again, with new secrets; what counts replaces the verdict. Adds
  // their number to `confirmed`. False if a stop ended the waiting.
  bool confirm(std::vector<Episode>& episodes, int64_t& confirmed);

 private:
  // From the store, under the turn's key: its verdict, or that it was left without one.
  std::optional<Verdict> known_verdict(Episode& episode);
  // The counting verdict on an answer whose success is to be confirmed, if it is known already.
  std::optional<Verdict> known_confirmation(Episode& episode);
  // Hands out verdicts until none is pending or, with a verdict that says so for each that is missing, the
  // deadline has come. False if a stop ended the waiting.
  bool receive(const std::function<void(Verdict, bool straggled)>& take,
               const std::function<void(size_t pending)>& show = {});
  void keep(std::vector<Episode>& episodes, Verdict verdict, const OnVerdict& on_verdict);
  bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }

  VerifierClient* verifier_;
  VerdictStore* store_;
  VerificationSettings settings_;
};

}  // namespace bicrl
