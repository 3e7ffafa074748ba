// Several backends of one kind, each with a device of its own, as one: a plan goes to the device with the
// least to do. A device that is lost takes itself out, and what it was asked goes to the others; it is looked
// at again now and then, and comes back once it works. All programs are run, and timed, on one model of
// device, since devices of several models are refused. Thread-safe if the backends are.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "sandbox/verifier/backend.h"

namespace bicrl {

class SpreadBackend : public Backend {
 public:
  struct Device {
    std::unique_ptr<Backend> backend;
    // Whether a device that was lost works again. Blocks.
    std::function<bool(std::stop_token)> revive;
  };
  // At least one. `missing`: what else there is to say of the host's devices. `first_pause_s`: after a loss,
  // until the device is looked at again; doubled each time that it is still lost. `patience_s`: how long a
  // run or a window that comes while no device works waits for one. Throws Error(kUnavailable) if the devices
  // are of several models: what differs in the names or the clocks of their backends.
  explicit SpreadBackend(std::vector<Device> devices, const std::vector<std::string>& missing = {},
                         double first_pause_s = 5, double patience_s = 60);

  const BackendFeatures& features() const override { return features_; }
  RunResult run(const RunPlan& plan, std::stop_token stop) override;
  TimingResult time(const TimingPlan& plan, std::stop_token stop) override;
  OwnSizeResult judge_own_size(const OwnSizePlan& plan, std::stop_token stop) override;
  SanitizerReport sanitize(const RunPlan& plan, const std::vector<std::string>& tools,
                           std::stop_token stop) override;
  std::vector<BackendDevice> devices() const override;

 private:
  struct Member {
    Device device;
    int runs = 0, windows = 0;  // that it is at now
    bool is_out = false;
    double pause_s = 0;
    std::chrono::steady_clock::time_point look_at{};
  };
  enum class Work { kRun, kWindow };
  class Turn;  // a plan's on a device
  std::optional<size_t> choose(const std::vector<bool>& tried);
  template <class Result, class Ask>
  Result ask_around(Work work, const std::stop_token& stop, Ask ask);
  void take_out(size_t index);
  void look_again(std::stop_token stop);

  const double first_pause_s_, patience_s_;
  BackendFeatures features_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Member> members_;
  size_t turn_ = 0;
  uint64_t losses_ = 0;
  std::jthread keeper_;  // last: it uses the others
};

}  // namespace bicrl
