// Lease of a device: shared by many runs at a time, or exclusive to one window that times
// (gpu/timing/window.h). It holds between the threads of this process and, by locks on files, between the
// servers of a host. Served in the order of asking within a process, and no run of any server overtakes a
// window that waits, so that neither kind starves. Thread-safe.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>

#include "common/files/unique_fd.h"

namespace bicrl {

class DeviceLease {
 public:
  // `device`: where it is on the bus, so that servers that number devices otherwise mean the same.
  explicit DeviceLease(const std::string& device);
  // Why other servers of the host do not know of this one's holds; empty if they do.
  const std::string& problem() const { return problem_; }

  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : lease_(other.lease_) { other.lease_ = nullptr; }
    Hold& operator=(Hold&& other) noexcept;
    ~Hold() { release(); }
    explicit operator bool() const { return lease_ != nullptr; }
    void release();

   private:
    friend class DeviceLease;
    explicit Hold(DeviceLease* lease) : lease_(lease) {}
    DeviceLease* lease_ = nullptr;
  };
  // Block; empty if a stop is asked for. Nobody asks for a second one of the same lease while it holds one.
  Hold share(std::stop_token stop);
  Hold take(std::stop_token stop);

 private:
  Hold wait(bool alone, const std::stop_token& stop);
  bool lock_file(std::unique_lock<std::mutex>& lock, bool alone, const std::stop_token& stop);
  void give_back();
  UniqueFd open_lock(const std::string& name);
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<const void*> queue_;  // of those who wait, each by a place of its own
  int holders_ = 0;
  bool alone_ = false;  // the only holder is a window
  std::string problem_;
  UniqueFd file_;  // locked by whoever works on the device
  UniqueFd gate_;  // and by who comes next, for as long as it waits for that
};

}  // namespace bicrl
