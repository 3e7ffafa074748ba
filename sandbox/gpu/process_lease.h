// A process of the loader for the length of a request. Internal to gpu_*.cpp.
#pragma once
#include "sandbox/gpu/gpu_backend.h"

namespace bicrl {

// A context takes about a second; a busy machine's takes longer.
inline constexpr double kGpuStart_s = 60;
// Beside its runs' own limits: modules, copies and comparisons.
inline constexpr double kGpuGrace_s = 30;

class GpuBackend::ProcessLease {
 public:
  ProcessLease(GpuBackend& backend, std::stop_token stop) : backend_(backend), process_(backend.take(stop)) {}
  ~ProcessLease() {
    if (!process_) return;
    if (good_)
      backend_.give_back(std::move(process_));
    else
      backend_.replace(std::move(process_));
  }
  ProcessLease(const ProcessLease&) = delete;
  ProcessLease& operator=(const ProcessLease&) = delete;
  GpuProcess* operator->() const { return process_.get(); }
  GpuProcess& operator*() const { return *process_; }
  explicit operator bool() const { return process_ != nullptr; }
  void keep() { good_ = true; }

 private:
  GpuBackend& backend_;
  std::unique_ptr<GpuProcess> process_;
  bool good_ = false;
};

}  // namespace bicrl
