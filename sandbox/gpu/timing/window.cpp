#include "sandbox/gpu/timing/window.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "common/error.h"

namespace bicrl::timing {
namespace {

// Up to which the two clocks agree: what the host needs to see that an event has come.
constexpr double kGapShare = 0.03, kGap_ms = 0.03;

// Why a window was of no use. What a device does passes; a program whose time depends on its inputs is no
// better known in the end, and one that a window is too short for will not be in the next one either.
struct Useless {
  std::string reason;  // empty: it was of use
  bool is_devices = true;
  int most_windows = 0;  // that there are for that reason
};

// One window of several.
class Window {
 public:
  Window(const WindowSetting& setting, const WindowOptions& options, WindowParts& parts, std::stop_token stop)
      : setting_(setting),
        options_(options),
        parts_(parts),
        stop_(std::move(stop)),
        pairs_(setting.baselines.size()) {
    parties_.push_back(setting.candidate);
    parties_.insert(parties_.end(), setting.baselines.begin(), setting.baselines.end());
    events_ms_.resize(parties_.size());
    gaps_ms_.resize(parties_.size());
  }

  // No reason if it is good, or failed() is.
  Useless run() {
    const double begin = setting_.seconds();
    look_at_device();
    for (size_t number = 0;; ++number) {
      if (!time_round(number)) return {};
      if (number % options_.health_every == 0) look_at_device();
      if (number < options_.warm_up) continue;
      const bool over = setting_.seconds() - begin > options_.limit_s;
      // All baselines have to be known.
      Judgement all{Advice::kEnough, ""};
      for (const auto& pairs : pairs_) {
        const Judgement judgement = judge_pairs(pairs, options_.steadiness, over);
        if (judgement.advice == Advice::kMorePairs)
          all = judgement;
        else if (judgement.advice != Advice::kEnough)
          return useless(judgement);
      }
      if (all.advice == Advice::kMorePairs) continue;
      return useless(all);
    }
  }

  const Fault& failed() const { return end_; }
  void take(WindowResult& result) {
    result.pairs = std::move(pairs_);
    result.health = health_;
    result.clock_gap_ms = median(gaps_ms_.front());
  }

 private:
  void look_at_device() { health_.add(setting_.health()); }

  // What the device is to blame for goes before what the pairs say.
  Useless useless(const Judgement& pairs) {
    if (!good(check_last(), setting_.candidate)) return {};
    look_at_device();
    if (health_.known && (health_.reasons & kThrottles) != 0)
      return {"the device was throttled: " + reasons_text(health_.reasons & kThrottles), true,
              options_.most_windows};
    if (const std::string problem = clocks_disagree(); !problem.empty())
      return {problem, true, options_.most_windows};
    return {pairs.reason, /*is_devices=*/false, most_windows(pairs.advice)};
  }

  int most_windows(Advice advice) const {
    if (advice == Advice::kHopeless) return 1;
    return advice == Advice::kRepeatOnce ? std::min(2, options_.most_windows) : options_.most_windows;
  }

  bool good(Fault step, const TimedParty* party) {
    if (!step) return true;
    end_ = std::move(step);
    // A reference that fails here was right in the oracle.
    if (party != setting_.candidate && end_.blame == Fault::Blame::kProgram)
      end_ = Fault::infrastructure("the reference on the GPU: " + end_.reason);
    return false;
  }

  size_t test_input_of(size_t number) {
    // Every test input as often, in a new order each time round, and none twice in a row.
    if (number % setting_.test_inputs == 0) {
      const size_t last = order_.empty() ? setting_.test_inputs : order_.back();
      order_.resize(setting_.test_inputs);
      std::iota(order_.begin(), order_.end(), size_t{0});
      shuffle(order_);
      if (order_.front() == last) std::swap(order_.front(), order_.back());
    }
    return order_[number % setting_.test_inputs];
  }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[setting_.random() % i]);
  }

  // What was answered last, once.
  Fault check_last() {
    if (!unchecked_) return {};
    const size_t test_input = *unchecked_;
    unchecked_.reset();
    const double begin = setting_.seconds();
    Fault checked = setting_.check(test_input);
    parts_.check_s += setting_.seconds() - begin;
    return checked;
  }

  // While they prepare, the answer before is checked. Whoever has begun is waited for in any case, and a
  // wrong answer is the candidate's fault whatever else fails.
  bool prepare(size_t test_input) {
    const double begin = setting_.seconds(), checked_before_s = parts_.check_s;
    std::vector<TimedParty*> begun;
    bool ready = true;
    for (TimedParty* party : parties_) {
      ready = good(party->prepare(test_input), party);
      if (!ready) break;
      begun.push_back(party);
    }
    const Fault checked = check_last();
    for (TimedParty* party : begun) {
      const Fault step = party->await_ready();
      ready = ready && good(step, party);
    }
    parts_.prepare_s += setting_.seconds() - begin - (parts_.check_s - checked_before_s);
    return good(checked, setting_.candidate) && ready;
  }

  bool time_round(size_t number) {
    const size_t test_input = test_input_of(number);
    if (!prepare(test_input)) return false;
    std::vector<size_t> order(parties_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    shuffle(order);
    std::vector<TimedCall> calls(parties_.size());
    for (const size_t i : order) {
      if (stop_.stop_requested()) {
        end_ = Fault::infrastructure("cancelled");
        return false;
      }
      const double begin = setting_.seconds();
      if (!good(parties_[i]->time(calls[i]), parties_[i])) return false;
      (i == 0 ? parts_.candidate_s : parts_.baselines_s) += setting_.seconds() - begin;
    }
    unchecked_ = test_input;
    if (number < options_.warm_up) return true;
    for (size_t k = 0; k < pairs_.size(); ++k)
      pairs_[k].push_back({calls[0].event_ms, calls[k + 1].event_ms});
    for (size_t i = 0; i < calls.size(); ++i) {
      events_ms_[i].push_back(calls[i].event_ms);
      gaps_ms_[i].push_back(calls[i].host_ms - calls[i].event_ms);
    }
    return true;
  }

  // Each party by itself: what is allowed beside a long run would hide a short one.
  std::string clocks_disagree() const {
    for (size_t i = 0; i < parties_.size(); ++i) {
      const double gap = median(gaps_ms_[i]), event = median(events_ms_[i]);
      if (std::abs(gap) <= kGap_ms + kGapShare * event) continue;
      return concat("the device's events and the host's clock differ by ", std::lround(gap * 1000),
                    " us in the middle, of ", std::lround(event * 1000), " us");
    }
    return {};
  }

  const WindowSetting& setting_;
  const WindowOptions& options_;
  WindowParts& parts_;
  const std::stop_token stop_;
  std::vector<TimedParty*> parties_;
  std::vector<size_t> order_;        // of test inputs
  std::optional<size_t> unchecked_;  // the test input of the answer that nobody has looked at yet
  std::vector<std::vector<Pair>> pairs_;
  std::vector<std::vector<double>> events_ms_, gaps_ms_;  // of each party
  HealthSummary health_;
  Fault end_;
};

}  // namespace

void HealthSummary::add(const DeviceHealth& health) {
  if (!health.known) {
    unknown_because = health.unknown_because;
    return;
  }
  least_sm_mhz = known ? std::min(least_sm_mhz, health.sm_mhz) : health.sm_mhz;
  most_sm_mhz = std::max(most_sm_mhz, health.sm_mhz);
  memory_mhz = health.memory_mhz;
  most_temperature_c = std::max(most_temperature_c, health.temperature_c);
  reasons |= health.reasons;
  most_tenants = std::max(most_tenants, health.tenants);
  known = true;
}

WindowResult conduct(const WindowSetting& setting, const WindowOptions& options, std::stop_token stop) {
  BICRL_CHECK(setting.test_inputs >= 2 && !setting.baselines.empty(),
              "a window of one test input, or of one side");
  WindowResult result;
  while (true) {
    Window window(setting, options, result.parts, stop);
    const Useless useless = window.run();
    ++result.windows;
    result.end = window.failed();
    window.take(result);
    if (result.end || useless.reason.empty()) return result;
    result.repeated_because.push_back(useless.reason);
    if (result.windows >= useless.most_windows) {
      const std::string why = concat("no window of ", result.windows, " gave a time: ", useless.reason);
      if (useless.is_devices)
        result.end = Fault::infrastructure(why);
      else
        result.unsteady = why;
      return result;
    }
    // What others do on the device, or with its clocks, passes; a window at once is worth a try but for the
    // last.
    if (useless.is_devices || result.windows + 1 == useless.most_windows) setting.rest(result.windows);
  }
}

}  // namespace bicrl::timing
