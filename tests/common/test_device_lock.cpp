// Who has the device when: ranks together, a window alone, and nobody holds up ranks that wait for each
// other.
#include "common/device_lock.h"

#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <optional>
#include <thread>

#include "common/clock.h"
#include "common/error.h"

namespace bicrl {
namespace {

constexpr double kLong_s = 600;

// Of this process, so that tests that run beside each other do not meet.
struct Bus {
  explicit Bus(const char* test) : name(concat("Test-", test, "-", getpid(), ":00.A")) {}
  ~Bus() {
    for (const char* end : {".turn", ".wish"}) std::filesystem::remove(file(end));
  }
  std::filesystem::path file(const char* end = ".turn") const {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(tolower(c));
    return concat("/dev/shm/bicrl-gpu-", lower, end);
  }
  const std::string name;
};

TEST_CASE("ranks use a device side by side, a window waits for all of them") {
  const Bus bus("ranks");
  std::optional one(DeviceLock::among_ranks(bus.name, 0)), other(DeviceLock::among_ranks(bus.name, 0));
  REQUIRE((*one && *other));
  std::atomic<bool> has_begun = false;
  bool granted = false;
  std::jthread window([&](const std::stop_token& stop) {
    const DeviceLock lock = DeviceLock::alone(bus.name, stop);
    has_begun = granted = bool(lock);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  one.reset();
  // A rank that comes while a window waits goes first: `other` may wait for it.
  CHECK(DeviceLock::among_ranks(bus.name, 0));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK_FALSE(has_begun);
  other.reset();
  window.join();
  CHECK(granted);
}

TEST_CASE("a rank waits for a window that has begun, and not for ever") {
  const Bus bus("patience");
  std::optional window(DeviceLock::alone(bus.name, {}));
  REQUIRE(*window);
  CHECK_FALSE(DeviceLock::among_ranks(bus.name, 0.01));
  std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    window.reset();
  });
  CHECK(DeviceLock::among_ranks(bus.name, kLong_s));
}

TEST_CASE("a window that waits is seen, and takes what a rank lends") {
  const Bus bus("wish");
  const WaitingWindows windows(bus.name);
  CHECK_FALSE(windows.any());
  std::optional rank(DeviceLock::among_ranks(bus.name, 0));
  std::atomic<bool> granted = false;
  std::atomic<bool> may_end = false;
  std::jthread window([&] {
    const DeviceLock lock = DeviceLock::alone(bus.name, {});
    granted = bool(lock);
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  while (!windows.any()) std::this_thread::yield();
  CHECK_FALSE(granted);
  CHECK(WaitingWindows(bus.name).any());  // as another rank sees it
  rank.reset();
  while (windows.any()) std::this_thread::yield();
  while (!granted) std::this_thread::yield();
  CHECK_FALSE(DeviceLock::among_ranks(bus.name, 0));
  may_end = true;
  CHECK(DeviceLock::among_ranks(bus.name, kLong_s));
  CHECK_FALSE(WaitingWindows().any());
}

TEST_CASE("a stop ends a window's wait") {
  const Bus bus("stop");
  const DeviceLock rank = DeviceLock::among_ranks(bus.name, 0);
  std::stop_source stop;
  std::jthread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  CHECK_FALSE(DeviceLock::alone(bus.name, stop.get_token()));
}

TEST_CASE("a lock goes by the device, however its bus is written") {
  const Bus bus("case"), another("another");
  const DeviceLock rank = DeviceLock::among_ranks(bus.name, 0);
  CHECK(DeviceLock::alone(another.name, {}));
  std::string lower = bus.name;
  for (char& c : lower) c = static_cast<char>(tolower(c));
  std::stop_source at_once;
  at_once.request_stop();
  CHECK_FALSE(DeviceLock::alone(lower, at_once.get_token()));
}

TEST_CASE("where no file can be had nobody waits") {
  const Bus bus("folder");
  std::filesystem::create_directory(bus.file());
  const DeviceLock rank = DeviceLock::among_ranks(bus.name, 0);
  CHECK(rank);
  CHECK(DeviceLock::alone(bus.name, {}));
  CHECK(problem_of_device_locks(bus.name).find(bus.file()) != std::string::npos);
  CHECK(problem_of_device_locks(Bus("sound").name).empty());
}

}  // namespace
}  // namespace bicrl
