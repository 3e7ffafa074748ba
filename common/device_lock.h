// The lock on a GPU that a policy trains or generates on and that programs are timed on. Ranks share it; a
// window of timing has it alone, while no rank uses the GPU. It holds between the processes of a host, by
// locks on files, and lasts as long as the object.
//
// Ranks wait for each other while they use their GPUs (collectives), so no window may come between those
// that have the lock and those that ask for it: a window that only waits blocks nobody. Ranks see that it
// waits, and those that can do without the device for a moment release the lock. A window's wait ends because
// no rank may wait for a verdict while it has the lock.
#pragma once
#include <stop_token>
#include <string>

#include "common/files/unique_fd.h"

namespace bicrl {

class DeviceLock {
 public:
  DeviceLock() = default;
  // `bus`: where the device is on the bus ("0000:1b:00.0"). Waits for a window that has begun; false if that
  // takes longer than `patience_s`.
  static DeviceLock among_ranks(const std::string& bus, double patience_s);
  // For a window. False if a stop is asked for.
  static DeviceLock alone(const std::string& bus, const std::stop_token& stop);

  explicit operator bool() const { return granted_; }

 private:
  explicit DeviceLock(UniqueFd file) : file_(std::move(file)), granted_(true) {}
  UniqueFd file_;  // its lock goes with it
  bool granted_ = false;
};

// Whether windows wait for that device's lock. Not thread-safe.
class WaitingWindows {
 public:
  WaitingWindows() = default;  // never
  explicit WaitingWindows(const std::string& bus);
  bool any() const;

 private:
  UniqueFd wish_;
};

// Why other processes do not see locks on that device, in one line; empty if they do.
std::string problem_of_device_locks(const std::string& bus);

}  // namespace bicrl
