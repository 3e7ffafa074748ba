#include "sandbox/gpu/device_lease.h"

#include <sys/file.h>

#include <algorithm>
#include <chrono>

#include "common/error.h"
#include "common/files/lock_file.h"

namespace bicrl {
namespace {

constexpr auto kLockLook = std::chrono::milliseconds(2);  // at a file that another server has locked

}  // namespace

DeviceLease::DeviceLease(const std::string& device) {
  file_ = open_lock(concat("bicrl-gpu-", device, ".lock"));
  gate_ = open_lock(concat("bicrl-gpu-", device, ".gate"));
}

UniqueFd DeviceLease::open_lock(const std::string& name) {
  LockFile opened = open_lock_file(name);
  if (problem_.empty()) problem_ = opened.problem;
  return std::move(opened.file);
}

DeviceLease::Hold& DeviceLease::Hold::operator=(Hold&& other) noexcept {
  if (this == &other) return *this;
  release();
  lease_ = other.lease_;
  other.lease_ = nullptr;
  return *this;
}

void DeviceLease::Hold::release() {
  if (lease_) lease_->give_back();
  lease_ = nullptr;
}

DeviceLease::Hold DeviceLease::share(std::stop_token stop) { return wait(false, stop); }
DeviceLease::Hold DeviceLease::take(std::stop_token stop) { return wait(true, stop); }

DeviceLease::Hold DeviceLease::wait(bool alone, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const char place = 0;
  queue_.push_back(&place);
  const bool granted = changed_.wait(lock, stop, [&] {
    return queue_.front() == &place && (alone ? holders_ == 0 : !alone_);
  }) && lock_file(lock, alone, stop);
  std::erase(queue_, &place);
  if (granted) {
    ++holders_;
    alone_ = alone;
  }
  changed_.notify_all();
  return granted ? Hold(this) : Hold();
}

// The first holder locks the file for all. Whoever is here is first in the queue, so that nobody else comes
// meanwhile.
bool DeviceLease::lock_file(std::unique_lock<std::mutex>& lock, bool alone, const std::stop_token& stop) {
  if (!problem_.empty()) return true;
  const auto locked = [&](const UniqueFd& file, int kind) {
    while (flock(file.get(), kind | LOCK_NB) != 0)
      if (changed_.wait_for(lock, stop, kLockLook, [] { return false; }) || stop.stop_requested())
        return false;
    return true;
  };
  // Everybody goes through the gate, and a window of any server waits in it: runs of others, which may
  // overlap for ever, get no further until it has had its turn.
  if (!locked(gate_, LOCK_EX)) return false;
  const bool granted = holders_ > 0 || locked(file_, alone ? LOCK_EX : LOCK_SH);
  flock(gate_.get(), LOCK_UN);
  return granted;
}

void DeviceLease::give_back() {
  const std::lock_guard lock(mutex_);
  alone_ = false;
  if (--holders_ == 0 && problem_.empty()) flock(file_.get(), LOCK_UN);
  changed_.notify_all();
}

}  // namespace bicrl
