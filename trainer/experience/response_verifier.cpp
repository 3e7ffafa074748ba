#include "trainer/experience/response_verifier.h"

#include <chrono>
#include <map>
#include <memory>

#include "common/clock.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/progress_bar.h"

namespace bicrl {
namespace {

using namespace std::chrono_literals;

constexpr double kMaxSilence_s = 30;  // after so long without a verdict a rank says what it waits for
constexpr auto kStopPoll = 500ms;     // so often a rank that waits looks whether to stop

Verdict unknown_verdict() {
  Verdict verdict;
  verdict.outcome = Outcome::kInfrastructure;
  verdict.diagnostics = "the ledger has no verdict on the program (with this reward's way of measuring)";
  return verdict;
}

VerificationRequest request_for(const VerifiedResponse& response, size_t index, bool fresh) {
  return {.request_id = std::to_string(index),
          .task_id = response.task->id,
          .pytorch_code = response.task->pytorch_code,
          .program = response.program,
          .fresh = fresh};
}

}  // namespace

void ResponseVerifier::submit(std::vector<VerifiedResponse>& responses, size_t index) {
  VerifiedResponse& response = responses.at(index);
  if (settings_.source == VerdictSource::kNone) return;
  if (settings_.needs_verdict && !settings_.needs_verdict(response.rollout)) return;
  if (ledger_) {
    response.verdict_key = ledger_->key_of(*response.task, response.program);
    response.verdict = ledger_->find(response.verdict_key);
    if (response.verdict) return;
  }
  if (settings_.source == VerdictSource::kLedger)
    response.verdict = unknown_verdict();
  else
    verifier_->submit(request_for(response, index, /*fresh=*/false));
}

void ResponseVerifier::take_ready(std::vector<VerifiedResponse>& responses) {
  while (verifier_ && verifier_->pending() > 0) {
    std::optional<Verdict> verdict = verifier_->next(0ms);
    if (!verdict) return;
    keep(responses, std::move(*verdict));
  }
}

bool ResponseVerifier::wait(std::vector<VerifiedResponse>& responses) {
  std::unique_ptr<ProgressBar> bar;
  if (!settings_.progress.empty())
    bar = std::make_unique<ProgressBar>(settings_.progress, static_cast<int64_t>(responses.size()),
                                        "of this rank");
  Stopwatch silent;
  while (verifier_ && verifier_->pending() > 0) {
    if (bar) bar->set(static_cast<int64_t>(responses.size() - verifier_->pending()));
    if (stop_requested()) return false;
    if (std::optional<Verdict> verdict = verifier_->next(kStopPoll)) {
      keep(responses, std::move(*verdict));
      silent.restart();
    } else if (silent.seconds() >= kMaxSilence_s) {  // the client's own deadline ends a request that hangs
      log_info("waiting for verdicts: ", verifier_->waiting_for());
      silent.restart();
    }
  }
  return true;
}

void ResponseVerifier::keep(std::vector<VerifiedResponse>& responses, Verdict verdict) {
  VerifiedResponse& response = responses.at(std::stoul(verdict.request_id));
  if (ledger_) ledger_->keep(response.verdict_key, verdict);
  response.verdict = std::move(verdict);
}

std::optional<Verdict> ResponseVerifier::known_confirmation(VerifiedResponse& response) {
  // The ledger keeps the verdict that counts under a key of its own, so that a program is confirmed once.
  if (ledger_) {
    response.verdict_key = hash_hex({response.verdict_key, "confirmed"});
    if (auto counted = ledger_->find(response.verdict_key)) return counted;
  }
  if (settings_.source == VerdictSource::kLedger) return unknown_verdict();
  return std::nullopt;
}

bool ResponseVerifier::confirm(std::vector<VerifiedResponse>& responses, const Quarantine& quarantine,
                               int64_t& confirmed) {
  std::map<std::string, std::vector<size_t>> waiting;  // by program and task
  for (size_t i = 0; i < responses.size(); ++i) {
    VerifiedResponse& response = responses[i];
    if (!response.verdict ||
        !quarantine.needs_confirmation(response.task->id, response.program, *response.verdict))
      continue;
    ++confirmed;
    if (auto counted = known_confirmation(response)) {
      response.verdict = std::move(counted);
      continue;
    }
    auto& alike = waiting[hash_hex({response.task->id, response.program})];
    if (alike.empty()) verifier_->submit(request_for(response, i, /*fresh=*/true));
    alike.push_back(i);
  }
  std::map<size_t, Verdict> seconds;
  while (verifier_ && verifier_->pending() > 0) {
    if (stop_requested()) return false;
    if (auto second = verifier_->next(kStopPoll)) {
      const size_t index = std::stoul(second->request_id);
      seconds.emplace(index, std::move(*second));
    }
  }
  for (const auto& [program, alike] : waiting)
    for (size_t i : alike) {
      VerifiedResponse& response = responses[i];
      response.verdict = quarantine.confirm(*response.verdict, seconds.at(alike.front()));
      if (ledger_) ledger_->keep(response.verdict_key, *response.verdict);
    }
  return true;
}

}  // namespace bicrl
