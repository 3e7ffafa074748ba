#include "common/device_lock.h"

#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/files/lock_file.h"

namespace bicrl {
namespace {

constexpr auto kLook = std::chrono::milliseconds(2);

LockFile open_file(std::string bus, const char* end) {
  std::ranges::transform(bus, bus.begin(), [](unsigned char c) { return std::tolower(c); });
  return open_lock_file(concat("bicrl-gpu-", bus, end));
}
// Held by ranks together or by a window alone.
LockFile open_use(const std::string& bus) { return open_file(bus, ".turn"); }
// Held by the window that waits.
LockFile open_wish(const std::string& bus) { return open_file(bus, ".wish"); }

// Without a file there is nobody to wait for.
bool lock(const LockFile& opened, int kind, const auto& goes_on) {
  while (opened.file && flock(opened.file.get(), kind | LOCK_NB) != 0) {
    if (!goes_on()) return false;
    std::this_thread::sleep_for(kLook);
  }
  return true;
}

}  // namespace

DeviceLock DeviceLock::among_ranks(const std::string& bus, double patience_s) {
  LockFile use = open_use(bus);
  const Stopwatch clock;
  if (!lock(use, LOCK_SH, [&] { return clock.seconds() < patience_s; })) return {};
  return DeviceLock(std::move(use.file));
}

DeviceLock DeviceLock::alone(const std::string& bus, const std::stop_token& stop) {
  LockFile use = open_use(bus);
  const LockFile wish = open_wish(bus);
  const auto goes_on = [&] { return !stop.stop_requested(); };
  if (!lock(wish, LOCK_EX, goes_on) || !lock(use, LOCK_EX, goes_on)) return {};
  return DeviceLock(std::move(use.file));
}

WaitingWindows::WaitingWindows(const std::string& bus) : wish_(open_wish(bus).file) {}

bool WaitingWindows::any() const {
  if (!wish_) return false;
  if (flock(wish_.get(), LOCK_SH | LOCK_NB) != 0) return true;
  flock(wish_.get(), LOCK_UN);
  return false;
}

std::string problem_of_device_locks(const std::string& bus) {
  const LockFile use = open_use(bus), wish = open_wish(bus);
  return use.problem.empty() ? wish.problem : use.problem;
}

}  // namespace bicrl
