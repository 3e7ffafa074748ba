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
};

// Refers to what it is given and owns nothing. Not thread-safe.
class ResponseVerifier {
 public:
  // `verifier` may be null if verdicts do not come from one, `ledger` if they are neither kept nor reused.
  ResponseVerifier(VerifierClient* verifier, VerdictLedger* ledger, ResponseVerifierSettings settings)
      : verifier_(verifier), ledger_(ledger), settings_(std::move(settings)) {}

  // Asks for the verdict of responses[index], or takes it from the ledger.
  void submit(std::vector<VerifiedResponse>& responses, size_t index);
  // Takes the verdicts that are ready, without waiting.
  void take_ready(std::vector<VerifiedResponse>& responses);
  // Waits until no verdict is pending; says what it waits for if none comes for long. False if a stop ended
  // the waiting.
  bool wait(std::vector<VerifiedResponse>& responses);
  // Has successes that are too good verified again, with new secrets; what counts replaces the verdict. Adds
  // their number to `confirmed`. False if a stop ended the waiting.
  bool confirm(std::vector<VerifiedResponse>& responses, const Quarantine& quarantine, int64_t& confirmed);

 private:
  // The counting verdict on a response whose success is to be confirmed, if it is known already.
  std::optional<Verdict> known_confirmation(VerifiedResponse& response);
  void keep(std::vector<VerifiedResponse>& responses, Verdict verdict);
  bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }

  VerifierClient* verifier_;
  VerdictLedger* ledger_;
  ResponseVerifierSettings settings_;
};

}  // namespace bicrl
