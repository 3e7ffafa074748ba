// Turns on a GPU that a policy trains or generates on and that programs are timed on: ranks use it side by
// side, a window that times has it alone, while no rank uses it. They hold between the processes of a host,
// by locks on files, and last as long as the object.
//
// Ranks wait for each other while they use their GPUs (collectives), so no window may come between those
// that have a turn and those that ask for one: a window that only waits holds nobody up. It is seen to wait,
// and ranks that can do without the device for a moment give their turns back; that it does not wait for ever
// is the ranks' part, none of which may wait for a verdict within its turn.
#pragma once
#include <stop_token>
#include <string>

#include "common/files/unique_fd.h"

namespace bicrl {

class DeviceTurn {
 public:
  DeviceTurn() = default;
  // `bus`: where the device is on the bus ("0000:1b:00.0"). Waits for a window that has begun; false if that
  // takes longer than `patience_s`.
  static DeviceTurn among_ranks(const std::string& bus, double patience_s);
  // For a window. False if a stop is asked for.
  static DeviceTurn alone(const std::string& bus, const std::stop_token& stop);

  explicit operator bool() const { return granted_; }

 private:
  explicit DeviceTurn(UniqueFd file) : file_(std::move(file)), granted_(true) {}
  UniqueFd file_;  // its lock goes with it
  bool granted_ = false;
};

// Whether windows wait for their turn on that device. Not thread-safe.
class WaitingWindows {
 public:
  WaitingWindows() = default;  // never
  explicit WaitingWindows(const std::string& bus);
  bool any() const;

 private:
  UniqueFd wish_;
};

// Why turns on that device are known to this process alone, in one line; empty if they are not.
std::string problem_of_turns(const std::string& bus);

}  // namespace bicrl
