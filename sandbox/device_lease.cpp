#include "sandbox/device_lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr auto kLook = std::chrono::milliseconds(2);  // at a file that another server has locked

}  // namespace

DeviceLease::DeviceLease(const std::string& device) {
  std::string name = device;
  std::ranges::replace(name, '/', '-');
  file_ = open_lock("bicrl-gpu-" + name + ".lock");
  gate_ = open_lock("bicrl-gpu-" + name + ".gate");
}

// Servers of other users count, too. A file of another user's in a folder like this one may be opened, but
// not with O_CREAT (fs.protected_regular).
UniqueFd DeviceLease::open_lock(const std::string& name) {
  const std::string path = concat(kFolder, "/", name);
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  UniqueFd file;
  for (int round = 0; round < 2 && !file; ++round) {  // another server may make it between the two
    file = UniqueFd(open(path.c_str(), kFlags));
    if (file || errno != ENOENT) break;
    file = UniqueFd(open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
    if (file) (void)fchmod(file.get(), 0666);
  }
  if (!file && problem_.empty()) problem_ = concat("cannot open ", path, ": ", strerror(errno));
  return file;
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
      if (changed_.wait_for(lock, stop, kLook, [] { return false; }) || stop.stop_requested()) return false;
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
