#include "episode/episode_verifier.h"

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

// Of the verdict that counts on a program that was verified a second time.
std::string confirmed_key(const std::string& verdict_key) { return hash_hex({verdict_key, "confirmed"}); }

VerificationRequest request_for(const Episode& episode, size_t index, bool fresh) {
  return {.request_id = std::to_string(index),
          .task_id = episode.task->id,
          .pytorch_code = episode.task->pytorch_code,
          .program = episode.last().program,
          .reduced_sizes = episode.task->reduced_sizes,
          .fresh = fresh};
}

}  // namespace

void EpisodeVerifier::submit(std::vector<Episode>& episodes, size_t index) {
  Episode& episode = episodes.at(index);
  Turn& turn = episode.last();
  // An episode that was verified before, by other rules or as another step, starts anew.
  turn.verdict_key.clear();
  turn.verdict.reset();
  turn.straggled = false;
  if (settings_.source == VerdictSource::kNone) return;
  if (settings_.needs_verdict && !settings_.needs_verdict(episode)) return;
  if (store_) {
    turn.verdict_key = store_->key_of(*episode.task, turn.program);
    turn.verdict = known_verdict(episode);
    if (turn.verdict) return;
  }
  turn.counted_key.clear();  // what was decided before was not decided of a verdict that comes only now
  if (settings_.source == VerdictSource::kStore)
    turn.verdict = unknown_verdict();
  else
    verifier_->submit(request_for(episode, index, /*fresh=*/false));
}

void EpisodeVerifier::take_ready(std::vector<Episode>& episodes, const OnVerdict& on_verdict) {
  while (verifier_ && verifier_->pending() > 0) {
    std::optional<Verdict> verdict = verifier_->next(0ms);
    if (!verdict) return;
    keep(episodes, std::move(*verdict), on_verdict);
  }
}

bool EpisodeVerifier::receive(const std::function<void(Verdict, bool straggled)>& take,
                              const std::function<void(size_t pending)>& show) {
  const double deadline_s = settings_.straggler_deadline_s;
  const Stopwatch waiting;
  Stopwatch silent;
  while (verifier_ && verifier_->pending() > 0) {
    if (show) show(verifier_->pending());
    if (stop_requested()) {
      // Another step may be asked for before the run ends, and its requests have the same ids.
      verifier_->withdraw();
      while (std::optional<Verdict> verdict = verifier_->next(0ms)) take(std::move(*verdict), false);
      return false;
    }
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

bool EpisodeVerifier::wait(std::vector<Episode>& episodes, const OnVerdict& on_verdict) {
  std::unique_ptr<ProgressBar> bar;
  if (!settings_.progress.empty())
    bar = std::make_unique<ProgressBar>(settings_.progress, static_cast<int64_t>(episodes.size()),
                                        "of this rank");
  return receive(
      [&](Verdict verdict, bool straggled) {
        episodes.at(std::stoul(verdict.request_id)).last().straggled = straggled;
        keep(episodes, std::move(verdict), on_verdict);
      },
      [&](size_t pending) {
        if (bar) bar->set(static_cast<int64_t>(episodes.size() - pending));
      });
}

void EpisodeVerifier::keep(std::vector<Episode>& episodes, Verdict verdict, const OnVerdict& on_verdict) {
  const size_t index = std::stoul(verdict.request_id);
  Turn& turn = episodes.at(index).last();
  if (store_) store_->keep(turn.verdict_key, verdict);
  turn.verdict = std::move(verdict);
  if (on_verdict) on_verdict(index);
}

std::optional<Verdict> EpisodeVerifier::known_verdict(Episode& episode) {
  Turn& turn = episode.last();
  const auto number = static_cast<int64_t>(episode.turns.size()) - 1;
  const MaskedTurn* masked =
      episode.key.place.phase.empty() ? nullptr : store_->masked(episode.key, number, turn.verdict_key);
  if (!masked) return store_->find(turn.verdict_key);
  turn.straggled = masked->straggled;
  return masked->verdict;
}

std::optional<Verdict> EpisodeVerifier::known_confirmation(Episode& episode) {
  // The store keeps the verdict that counts under a key of its own, so that a program is confirmed once.
  if (store_) {
    episode.last().verdict_key = confirmed_key(episode.last().verdict_key);
    if (auto counted = known_verdict(episode)) return counted;
  }
  if (settings_.source == VerdictSource::kStore) return unknown_verdict();
  return std::nullopt;
}

namespace {

// What was scored before is decided as then: quarantine has learnt of later steps since. A key that is
// neither of these two is that of another verifier or task.
bool is_to_be_confirmed(const Episode& episode, const Quarantine& quarantine) {
  const Turn& turn = episode.last();
  if (turn.counted_key == turn.verdict_key && !turn.counted_key.empty()) return false;
  if (turn.counted_key == confirmed_key(turn.verdict_key)) return true;
  return quarantine.needs_confirmation(episode.task->id, turn.program, *turn.verdict);
}

}  // namespace

bool EpisodeVerifier::confirm(std::vector<Episode>& episodes, int64_t& confirmed) {
  if (!settings_.quarantine) return true;
  const Quarantine& quarantine = *settings_.quarantine;
  std::map<std::string, std::vector<size_t>> waiting;  // by program and task
  for (size_t i = 0; i < episodes.size(); ++i) {
    Episode& episode = episodes[i];
    Turn& turn = episode.last();
    if (!turn.verdict || !is_to_be_confirmed(episode, quarantine)) continue;
    ++confirmed;
    if (auto counted = known_confirmation(episode)) {
      turn.verdict = std::move(counted);
      continue;
    }
    auto& alike = waiting[hash_hex({episode.task->id, turn.program})];
    if (alike.empty()) verifier_->submit(request_for(episode, i, /*fresh=*/true));
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
      Turn& turn = episodes[i].last();
      const Second& second = seconds.at(alike.front());
      turn.verdict = quarantine.confirm(*turn.verdict, second.verdict);
      turn.straggled = second.straggled;
      if (store_) store_->keep(turn.verdict_key, *turn.verdict);
    }
  return true;
}

}  // namespace bicrl
