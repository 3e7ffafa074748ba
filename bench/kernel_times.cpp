#include "bench/kernel_times.h"

#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <vector>

namespace bicrl {

KernelTimes profile_kernels(const std::function<void()>& work,
                            const std::function<std::string(const std::string&)>& kind_of) {
  namespace profiler = torch::autograd::profiler;
  namespace impl = torch::profiler::impl;
  const impl::ProfilerConfig config(impl::ProfilerState::KINETO);
  const std::set<impl::ActivityType> activities = {impl::ActivityType::CUDA};
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  work();
  const auto result = profiler::disableProfiler();
  struct Interval {
    uint64_t begin, end;
  };
  std::vector<Interval> intervals;
  KernelTimes times;
  for (const profiler::KinetoEvent& event : result->events()) {
    if (event.deviceType() != c10::DeviceType::CUDA || event.durationNs() == 0) continue;
    intervals.push_back({event.startNs(), event.endNs()});
    KernelTimes::Kind& kind = times.kinds[kind_of(event.name())];
    kind.milliseconds += static_cast<double>(event.durationNs()) * 1e-6;
    ++kind.launches;
  }
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  uint64_t last = 0;
  for (const Interval& interval : intervals) {
    const uint64_t begin = std::max(interval.begin, last);
    if (interval.end > begin) times.busy_ms += static_cast<double>(interval.end - begin) * 1e-6;
    last = std::max(last, interval.end);
  }
  if (!intervals.empty()) times.span_ms = static_cast<double>(last - intervals.front().begin) * 1e-6;
  return times;
}

}  // namespace bicrl
