#include "trainer/experience/response_verifier.h"

#include <algorithm>
#include <chrono>
#include <cmath>
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
constexpr std::chrono::milliseconds kStopPoll = 500ms;  // so often a rank that waits looks whether to stop

Verdict unknown_verdict() {
  Verdict verdict;
  verdict.outcome = Outcome::kInfrastructure;
  verdict.diagnostics = "the ledger has no verdict on the program (with this reward's way of measuring)";
  return verdict;
}

Verdict straggler_verdict(const std::string& request_id, double deadline_s) {
  Verdict verdict;
  verdict.request_id = request_id;
  verdict.outcome = Outcome::kInfrastructure;
  verdict.diagnostics = concat("given up after ", deadline_s, " s (run.straggler_deadline_s)");
  return verdict;
}

// How long to wait for the next verdict before looking at clock and stop again.
std::chrono::milliseconds next_look(const Stopwatch& waiting, double deadline_s) {
  if (deadline_s == 0) return kStopPoll;
  const auto left_ms = static_cast<int64_t>(std::ceil(1000 * (deadline_s - waiting.seconds())));
  return std::clamp(std::chrono::milliseconds(left_ms), std::chrono::milliseconds(0), kStopPoll);
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
    response.verdict = known_verdict(response);
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

bool ResponseVerifier::receive(const std::function<void(Verdict, bool straggled)>& take,
                               const std::function<void(size_t pending)>& show) {
  const double deadline_s = settings_.straggler_deadline_s;
  const Stopwatch waiting;
  Stopwatch silent;
  while (verifier_ && verifier_->pending() > 0) {
    if (show) show(verifier_->pending());
    if (stop_requested()) return false;
    const bool over = deadline_s > 0 && waiting.seconds() >= deadline_s;
    if (over) {
      const std::string missing = verifier_->waiting_for();
      const std::vector<std::string> stragglers = verifier_->withdraw();
      if (!stragglers.empty())
        log_warning("verdicts given up after ", deadline_s, " s: ", stragglers.size(), " (", missing, ")");
      for (const std::string& id : stragglers) take(straggler_verdict(id, deadline_s), true);
    }
    // Once stragglers are withdrawn, what is pending is ready.
    if (std::optional<Verdict> verdict = verifier_->next(over ? 0ms : next_look(waiting, deadline_s))) {
      take(std::move(*verdict), false);
      silent.restart();
    } else if (silent.seconds() >= kMaxSilence_s) {  // the client's own deadline ends a request that hangs
      log_info("waiting for verdicts: ", verifier_->waiting_for());
      silent.restart();
    }
  }
  return true;
}

bool ResponseVerifier::wait(std::vector<VerifiedResponse>& responses) {
  std::unique_ptr<ProgressBar> bar;
  if (!settings_.progress.empty())
    bar = std::make_unique<ProgressBar>(settings_.progress, static_cast<int64_t>(responses.size()),
                                        "of this rank");
  return receive(
      [&](Verdict verdict, bool straggled) {
        responses.at(std::stoul(verdict.request_id)).straggled = straggled;
        keep(responses, std::move(verdict));
      },
      [&](size_t pending) {
        if (bar) bar->set(static_cast<int64_t>(responses.size() - pending));
      });
}

void ResponseVerifier::keep(std::vector<VerifiedResponse>& responses, Verdict verdict) {
  VerifiedResponse& response = responses.at(std::stoul(verdict.request_id));
  if (ledger_) ledger_->keep(response.verdict_key, verdict);
  response.verdict = std::move(verdict);
}

std::optional<Verdict> ResponseVerifier::known_verdict(VerifiedResponse& response) {
  const MaskedResponse* masked =
      place_ ? ledger_->masked(*place_, response.group, response.sample, response.verdict_key) : nullptr;
  if (!masked) return ledger_->find(response.verdict_key);
  response.straggled = masked->straggled;
  return masked->verdict;
}

std::optional<Verdict> ResponseVerifier::known_confirmation(VerifiedResponse& response) {
  // The ledger keeps the verdict that counts under a key of its own, so that a program is confirmed once.
  if (ledger_) {
    response.verdict_key = hash_hex({response.verdict_key, "confirmed"});
    if (auto counted = known_verdict(response)) return counted;
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
  struct Second {
    Verdict verdict;
    bool straggled = false;
  };
  std::map<size_t, Second> seconds;
  const bool all = receive([&](Verdict second, bool straggled) {
    const size_t index = std::stoul(second.request_id);
    seconds.emplace(index, Second{std::move(second), straggled});
  });
  if (!all) return false;
  for (const auto& [program, alike] : waiting)
    for (size_t i : alike) {
      VerifiedResponse& response = responses[i];
      const Second& second = seconds.at(alike.front());
      response.verdict = quarantine.confirm(*response.verdict, second.verdict);
      response.straggled = second.straggled;
      if (ledger_) ledger_->keep(response.verdict_key, *response.verdict);
    }
  return true;
}

}  // namespace bicrl
