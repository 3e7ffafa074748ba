#include "tests/gpu/gpu_clock.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace bicrl::ptx::testing {
namespace {

// Several times the L2 of any device so far; and while it is written, the launches behind it are queued, so
// that the host's time for them is not measured.
constexpr size_t kFlushedBytes = size_t{512} << 20;

}  // namespace

GpuClock::GpuClock(const std::string& ptx) {
  if (!driver_.load(ptx)) throw std::runtime_error("the GPU's driver refuses the text");
  flushed_ = driver_.allocate(kFlushedBytes);
}

GpuClock::~GpuClock() {
  driver_.release(flushed_);
  for (const auto& [address, buffer] : buffers_) driver_.release(buffer.there);
}

void GpuClock::add(const std::string& kernel, const LaunchConfig& config, const DeviceMemory& memory,
                   const std::map<uint64_t, DeviceMemory::BufferId>& buffers) {
  for (const auto& [address, id] : buffers) {
    if (buffers_.contains(address)) continue;
    const DeviceMemory::Buffer& here = memory.buffer(id);
    const Buffer& there = buffers_[address] = {driver_.allocate(here.bytes), here.bytes};
    driver_.upload(there.there, here.data.get(), here.bytes);
  }
  Launch added{kernel, {config.grid, config.block, config.dynamic_shared_bytes, config.parameters}};
  std::string& parameters = added.launch.parameters;
  for (size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    uint64_t value = 0;
    memcpy(&value, parameters.data() + at, sizeof value);
    const auto after = buffers_.upper_bound(value);
    if (after == buffers_.begin()) continue;
    const auto& [address, buffer] = *std::prev(after);
    if (value >= address + buffer.bytes) continue;
    value += buffer.there - address;
    memcpy(parameters.data() + at, &value, sizeof value);
  }
  launches_.push_back(std::move(added));
}

double GpuClock::median_ms(int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    driver_.fill(flushed_, kFlushedBytes);
    times.push_back(driver_.timed_ms([this] {
      for (const Launch& launch : launches_) driver_.start(launch.kernel, launch.launch);
    }));
  }
  std::sort(times.begin(), times.end());
  return times.at(times.size() / 2);
}

}  // namespace bicrl::ptx::testing
