// Turns on a GPU that a policy trains or generates on and that programs are timed on: ranks use it side by
// side, a window that times has it alone, while no rank uses it. They hold between the processes of a host,
// by a lock on a file, and last as long as the object.
//
// Ranks wait for each other while they use their GPUs (collectives), so no window may come between those
// that have a turn and those that ask for one: a window that only waits holds nobody up, and comes where all
// ranks of its GPU wait for verdicts. That it does not wait for ever is the ranks' part: none may wait for a
// verdict within its turn.
#pragma once
#include <stop_token>
#include <string>

#include "common/unique_fd.h"

namespace bicrl {

class DeviceTurn {
 public:
  DeviceTurn() = default;
  // `bus`: where the device is on the bus ("0000:1b:00.0"). Waits for a window that has begun; after
  // `patience_s` it goes on without, and false is what the object is.
  static DeviceTurn among_ranks(const std::string& bus, double patience_s);
  // For a window. False if a stop is asked for. Where other processes cannot be known of there are no turns
  // to wait for.
  static DeviceTurn alone(const std::string& bus, const std::stop_token& stop);

  explicit operator bool() const { return granted_; }

 private:
  explicit DeviceTurn(UniqueFd file) : file_(std::move(file)), granted_(true) {}
  UniqueFd file_;  // its lock goes with it
  bool granted_ = false;
};

}  // namespace bicrl
