#include "common/device_turn.h"

#include <sys/file.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "common/lock_file.h"

namespace bicrl {
namespace {

constexpr auto kLook = std::chrono::milliseconds(2);

LockFile open_turns(std::string bus) {
  std::ranges::transform(bus, bus.begin(), [](unsigned char c) { return std::tolower(c); });
  return open_lock_file(concat("bicrl-gpu-", bus, ".turn"));
}

}  // namespace

DeviceTurn DeviceTurn::among_ranks(const std::string& bus, double patience_s) {
  LockFile turns = open_turns(bus);
  const Stopwatch clock;
  while (turns.file && flock(turns.file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (clock.seconds() > patience_s) return {};
    std::this_thread::sleep_for(kLook);
  }
  return DeviceTurn(std::move(turns.file));
}

DeviceTurn DeviceTurn::alone(const std::string& bus, const std::stop_token& stop) {
  LockFile turns = open_turns(bus);
  while (turns.file && flock(turns.file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (stop.stop_requested()) return {};
    std::this_thread::sleep_for(kLook);
  }
  return DeviceTurn(std::move(turns.file));
}

}  // namespace bicrl
