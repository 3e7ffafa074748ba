// Profile of the GPU kernels that some work launches, from torch's profiler: time and launches by kind, and
// how long no kernel ran.
#pragma once
#include <functional>
#include <map>
#include <string>

namespace bicrl {

struct KernelTimes {
  struct Kind {
    double milliseconds = 0;
    int64_t launches = 0;
  };
  std::map<std::string, Kind> kinds;
  double span_ms = 0;  // from the first kernel's begin to the last one's end
  double busy_ms = 0;  // at least one ran
};

// kind_of: of a kernel's name. `work` is to end with the device idle.
KernelTimes profile_kernels(const std::function<void()>& work,
                            const std::function<std::string(const std::string&)>& kind_of);

}  // namespace bicrl
