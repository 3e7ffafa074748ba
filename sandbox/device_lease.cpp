#include "sandbox/device_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr auto kLook = std::chrono::milliseconds(2);  // at a file that another server has locked

}  // namespace

// Without the file the lease holds within this process alone: a machine without /dev/shm has one server.
DeviceLease::DeviceLease(const std::string& device) {
  std::string name = device;
  std::ranges::replace(name, '/', '-');
  const std::filesystem::path path = std::filesystem::path(kFolder) / ("bicrl-gpu-" + name + ".lock");
  file_ = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file_) (void)fchmod(file_.get(), 0666);  // servers of other users count, too
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

// The first holder locks for all. Whoever is here is first in the queue, so that nobody else comes meanwhile.
bool DeviceLease::lock_file(std::unique_lock<std::mutex>& lock, bool alone, const std::stop_token& stop) {
  if (!file_) return true;
  while (holders_ == 0 && flock(file_.get(), (alone ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0)
    if (changed_.wait_for(lock, stop, kLook, [] { return false; }) || stop.stop_requested()) return false;
  return true;
}

void DeviceLease::give_back() {
  const std::lock_guard lock(mutex_);
  alone_ = false;
  if (--holders_ == 0 && file_) flock(file_.get(), LOCK_UN);
  changed_.notify_all();
}

}  // namespace bicrl
