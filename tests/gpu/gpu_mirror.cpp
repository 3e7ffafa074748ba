#include "tests/gpu/gpu_mirror.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bicrl::ptx::testing {

std::unique_ptr<GpuMirror> GpuMirror::make(const std::string& ptx, DeviceMemory& memory) {
  if (!getenv("BICRL_GPU_MIRROR")) return nullptr;
  std::unique_ptr<GpuMirror> mirror(new GpuMirror(ptx, memory));
  if (!mirror->loaded_) printf("GPU: the text is refused\n");
  return mirror;
}

void GpuMirror::keep(const std::map<uint64_t, DeviceMemory::BufferId>& buffers) {
  kept_.clear();
  for (const auto& [address, id] : buffers) {
    const DeviceMemory::Buffer& buffer = memory_.buffer(id);
    const auto* bytes = reinterpret_cast<const char*>(buffer.data.get());
    kept_[address] = {id, {bytes, bytes + buffer.bytes}, 0};
  }
}

void GpuMirror::run(const std::string& kernel, const LaunchConfig& config) {
  if (!loaded_) return;
  for (auto& [address, kept] : kept_) {
    kept.there = driver_.allocate(kept.bytes.size());
    driver_.upload(kept.there, kept.bytes.data(), kept.bytes.size());
  }
  // Parameters that are addresses within a buffer.
  GpuLaunch launch{config.grid, config.block, config.dynamic_shared_bytes, config.parameters};
  for (size_t at = 0; at + 8 <= launch.parameters.size(); at += 8) {
    uint64_t value = 0;
    memcpy(&value, launch.parameters.data() + at, sizeof value);
    for (const auto& [address, kept] : kept_)
      if (value >= address && value < address + kept.bytes.size()) {
        value += kept.there - address;
        memcpy(launch.parameters.data() + at, &value, sizeof value);
        break;
      }
  }
  size_t words = 0, different = 0;
  uint32_t furthest = 0;
  try {
    driver_.run(kernel, launch);
    for (const auto& [address, kept] : kept_) {
      const std::vector<char> theirs = driver_.download(kept.there, kept.bytes.size());
      const auto* ours = memory_.buffer(kept.id).data.get();
      for (size_t at = 0; at + 4 <= theirs.size(); at += 4) {
        uint32_t a = 0, b = 0;
        memcpy(&a, ours + at, 4);
        memcpy(&b, theirs.data() + at, 4);
        ++words;
        if (a == b) continue;
        ++different;
        furthest = std::max(furthest, a > b ? a - b : b - a);
      }
      driver_.release(kept.there);
    }
  } catch (const std::exception& error) {
    printf("GPU: %s: %s\n", kernel.c_str(), error.what());
    loaded_ = false;
    return;
  }
  printf("GPU: %s: %zu of %zu words differ, by at most %u\n", kernel.c_str(), different, words, furthest);
}

}  // namespace bicrl::ptx::testing
