#include "sandbox/verifier/spread_backend.h"

#include <algorithm>
#include <chrono>
#include <tuple>

#include "common/log.h"

namespace bicrl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostPause_s = 120;
constexpr const char* kNoneLeft = "none of the devices of this verifier works";

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void add_new(const std::vector<std::string>& from, std::vector<std::string>& to) {
  for (const std::string& text : from)
    if (std::ranges::find(to, text) == to.end()) to.push_back(text);
}

void none_left(RunResult& result) { result.fault = Fault::infrastructure(kNoneLeft); }
void none_left(OwnSizeResult& result) { result.end = Fault::infrastructure(kNoneLeft); }
void none_left(TimingResult& result) { result.end = Fault::infrastructure(kNoneLeft); }

}  // namespace

SpreadBackend::SpreadBackend(std::vector<Device> devices, const std::vector<std::string>& missing,
                             double first_pause_s, double patience_s)
    : first_pause_s_(first_pause_s), patience_s_(patience_s) {
  BICRL_CHECK(!devices.empty(), "a backend without devices");
  features_ = devices.front().backend->features();
  for (Device& device : devices) {
    const BackendFeatures& has = device.backend->features();
    if (has.name != features_.name || has.clock_device != features_.clock_device)
      throw Error(
          concat("the GPUs of this verifier are of several models (", features_.name, " and ", has.name,
                 "), and verdicts of one task would not be alike: start a verifier for each model, "
                 "with its GPUs in `gpu.devices`"),
          ExitCode::kUnavailable);
    features_.sanitizes = features_.sanitizes && has.sanitizes;
    add_new(has.present, features_.present);
    add_new(has.missing, features_.missing);
    members_.push_back({.device = std::move(device)});
  }
  add_new(missing, features_.missing);
  keeper_ = std::jthread([this](std::stop_token stop) { look_again(stop); });
}

class SpreadBackend::Turn {
 public:
  Turn(SpreadBackend& owner, size_t index, Work work)
      : owner_(owner),
        count_(work == Work::kRun ? owner.members_[index].runs : owner.members_[index].windows) {}
  ~Turn() {
    const std::lock_guard lock(owner_.mutex_);
    --count_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  SpreadBackend& owner_;
  int& count_;
};

// A window has its device to itself, so one weighs more than any runs. Called with the lock held.
std::optional<size_t> SpreadBackend::choose(const std::vector<bool>& tried) {
  const size_t count = members_.size();
  const auto cost = [&](size_t i) {
    return std::tuple(members_[i].windows, members_[i].runs, (i + count - turn_) % count);
  };
  std::optional<size_t> best;
  for (size_t i = 0; i < count; ++i)
    if (!members_[i].is_out && !tried[i] && (!best || cost(i) < cost(*best))) best = i;
  if (best) turn_ = (*best + 1) % count;
  return best;
}

template <class Result, class Ask>
Result SpreadBackend::ask_around(Work work, const std::stop_token& stop, Ask ask) {
  std::vector<bool> tried(members_.size());
  Result result;
  none_left(result);
  {
    // What has seen a loss itself does not wait: it may be what the device was lost of.
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, stop, after(patience_s_),
                        [this] { return !std::ranges::all_of(members_, &Member::is_out); });
  }
  double spent_ms = 0;
  while (true) {
    std::optional<size_t> index;
    {
      const std::lock_guard lock(mutex_);
      index = choose(tried);
      if (!index) break;
      ++(work == Work::kRun ? members_[*index].runs : members_[*index].windows);
    }
    tried[*index] = true;
    {
      const Turn turn(*this, *index, work);
      result = ask(*members_[*index].device.backend);
    }
    spent_ms += result.run_ms;
    if (!result.device_lost) break;
    take_out(*index);
  }
  result.run_ms = spent_ms;
  return result;
}

RunResult SpreadBackend::run(const RunPlan& plan, std::stop_token stop) {
  return ask_around<RunResult>(Work::kRun, stop, [&](Backend& backend) { return backend.run(plan, stop); });
}

TimingResult SpreadBackend::time(const TimingPlan& plan, std::stop_token stop) {
  return ask_around<TimingResult>(Work::kWindow, stop,
                                  [&](Backend& backend) { return backend.time(plan, stop); });
}

OwnSizeResult SpreadBackend::judge_own_size(const OwnSizePlan& plan, std::stop_token stop) {
  return ask_around<OwnSizeResult>(Work::kWindow, stop,
                                   [&](Backend& backend) { return backend.judge_own_size(plan, stop); });
}

SanitizerReport SpreadBackend::sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                                        std::stop_token stop) {
  std::optional<size_t> index;
  {
    const std::lock_guard lock(mutex_);
    index = choose(std::vector<bool>(members_.size()));
    if (index) ++members_[*index].runs;
  }
  if (!index) return {.findings = {}, .problem = kNoneLeft};
  const Turn turn(*this, *index, Work::kRun);
  return members_[*index].device.backend->sanitize(plan, tools, stop);
}

std::vector<BackendDevice> SpreadBackend::devices() const {
  std::vector<BackendDevice> all;
  for (const Member& member : members_)
    for (BackendDevice& device : member.device.backend->devices()) all.push_back(std::move(device));
  return all;
}

void SpreadBackend::take_out(size_t index) {
  const std::lock_guard lock(mutex_);
  Member& member = members_[index];
  if (member.is_out) return;
  member.is_out = true;
  member.pause_s = first_pause_s_;
  member.look_at = after(member.pause_s);
  ++losses_;
  changed_.notify_all();
}

void SpreadBackend::look_again(std::stop_token stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto next = std::ranges::min_element(members_, {}, [](const Member& member) {
      return member.is_out ? member.look_at : Clock::time_point::max();
    });
    if (!next->is_out) {
      changed_.wait(lock, stop, [&] { return std::ranges::any_of(members_, &Member::is_out); });
      continue;
    }
    if (next->look_at > Clock::now()) {
      // Another loss may be due earlier.
      changed_.wait_until(lock, stop, next->look_at, [this, seen = losses_] { return losses_ != seen; });
      continue;
    }
    lock.unlock();
    const bool works = next->device.revive(stop);
    lock.lock();
    next->is_out = !works;
    next->pause_s = std::min(2 * next->pause_s, kMostPause_s);
    next->look_at = after(next->pause_s);
    if (works) changed_.notify_all();
  }
}

}  // namespace bicrl
