// Verdicts on a rank's responses, from the ledger of the run, from its verifiers, or from another run's
// ledger. Nothing here is collective.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "reward/client/verifier_client.h"
#include "reward/quarantine.h"
#include "rollout/rollout.h"
#include "tasks/task.h"
#include "trainer/experience/verdict_ledger.h"

namespace bicrl {

// One response to a prompt.
struct VerifiedResponse {
  int64_t group = 0;   // of the step, over all ranks; all responses to one prompt
  int64_t sample = 0;  // within the group
  const Task* task = nullptr;
  Rollout rollout;
  std::string program;             // extracted from the rollout's text
  std::string verdict_key;         // in the ledger, if there is one
  std::optional<Verdict> verdict;  // none if none was asked for
  bool straggled = false;          // the verdict was given up, by the clock, and says so

  // Whether the verdict says anything about the program.
  bool verified() const { return verdict && judges_program(verdict->outcome); }
};

enum class VerdictSource {
  kVerifier,  // asked for if the ledger does not know them
  kLedger,    // taken from the ledger; a program that it does not know stays without a verdict
  kNone,
};

struct ResponseVerifierSettings {
  VerdictSource source = VerdictSource::kVerifier;
  std::string progress{};                               // label of a bar on the terminal; empty: none
  std::function<bool(const Rollout&)> needs_verdict{};  // empty: all do
  std::function<bool()> stop_requested{};               // looked at while verdicts are waited for
  // How long verdicts are waited for once all are asked for, and second verifications again, before those
  // that are missing are given up; 0: until the client ends their requests.
  double straggler_deadline_s = 0;
};

// Refers to what it is given and owns nothing. Not thread-safe.
class ResponseVerifier {
 public:
  // `verifier` may be null if verdicts do not come from one, `ledger` if they are neither kept nor reused.
  ResponseVerifier(VerifierClient* verifier, VerdictLedger* ledger, ResponseVerifierSettings settings)
      : verifier_(verifier), ledger_(ledger), settings_(std::move(settings)) {}

  // The step whose responses come next. Those that the ledger says were left without a verdict in it are left
  // without one again; before the first call it is not asked.
  void begin_step(const StepPlace& place) { place_ = place; }
  // Asks for the verdict of responses[index], or takes it from the ledger.
  void submit(std::vector<VerifiedResponse>& responses, size_t index);
  // Asked for, and not there yet.
  int64_t pending() const { return verifier_ ? static_cast<int64_t>(verifier_->pending()) : 0; }
  // Takes the verdicts that are ready, without waiting.
  void take_ready(std::vector<VerifiedResponse>& responses);
  // Waits until no verdict is pending; says what it waits for if none comes for long. At the deadline gives
  // up those that are missing. False if a stop ended the waiting.
  bool wait(std::vector<VerifiedResponse>& responses);
  // Has successes that are too good verified again, with new secrets; what counts replaces the verdict. Adds
  // their number to `confirmed`. False if a stop ended the waiting.
  bool confirm(std::vector<VerifiedResponse>& responses, const Quarantine& quarantine, int64_t& confirmed);

 private:
  // From the ledger, under the response's key: its verdict, or that it was left without one.
  std::optional<Verdict> known_verdict(VerifiedResponse& response);
  // The counting verdict on a response whose success is to be confirmed, if it is known already.
  std::optional<Verdict> known_confirmation(VerifiedResponse& response);
  // Hands out verdicts until none is pending or, with a verdict that says so for each that is missing, the
  // deadline has come. False if a stop ended the waiting.
  bool receive(const std::function<void(Verdict, bool straggled)>& take,
               const std::function<void(size_t pending)>& show = {});
  void keep(std::vector<VerifiedResponse>& responses, Verdict verdict);
  bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }

  VerifierClient* verifier_;
  VerdictLedger* ledger_;
  ResponseVerifierSettings settings_;
  std::optional<StepPlace> place_;
};

}  // namespace bicrl
