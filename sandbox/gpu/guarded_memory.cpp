#include "sandbox/gpu/guarded_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "sandbox/ptx/device_memory.h"

namespace bicrl::gpu {
namespace {

constexpr uint64_t kTogether = 4 << 20;  // a piece that is looked at in one go

// The first byte that is no poison; `begin`: where the bytes lie in the allocation, whose bytes begin even.
std::optional<uint64_t> first_written(const std::vector<std::byte>& bytes, uint64_t begin) {
  constexpr std::byte kBytes[2] = {std::byte{ptx::kPoisonWord & 0xFF}, std::byte{ptx::kPoisonWord >> 8}};
  for (uint64_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != kBytes[(begin + i) % 2]) return begin + i;
  return std::nullopt;
}

}  // namespace

GuardedMemory::GuardedMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes, uint64_t seed)
    : driver_(driver), layout_(lay_out(buffer_bytes, seed)), base_(driver.allocate(layout_.bytes)) {
  poison({0, layout_.bytes});
}

// Where the device is lost, its driver wipes.
GuardedMemory::~GuardedMemory() {
  if (base_ == 0) return;
  try {
    driver_.fill(base_, 4, 0, layout_.bytes / 4);
    driver_.release(base_);
  } catch (const DriverError&) {
  }
}

void GuardedMemory::poison(const Span& span) {
  // Whole words by the device; a buffer of an odd size ends within one.
  driver_.fill(base_ + span.begin, 2, ptx::kPoisonWord, span.bytes / 2);
  if (span.bytes % 2 == 0) return;
  constexpr auto kLow = static_cast<uint8_t>(ptx::kPoisonWord & 0xFF);
  driver_.fill(base_ + span.end() - 1, 1, kLow, 1);
}

void GuardedMemory::renew() {
  released_.clear();
  poison({0, layout_.bytes});
}

void GuardedMemory::release(size_t buffer) {
  poison(layout_.buffers[buffer]);
  released_.push_back(layout_.buffers[buffer]);
}

std::optional<Breach> GuardedMemory::find_breach() {
  std::vector<Span> guards = layout_.guards;
  guards.insert(guards.end(), released_.begin(), released_.end());
  // Small allocations are looked at as a whole: each copy from the device takes some microseconds.
  std::vector<std::byte> whole(layout_.bytes <= kTogether ? layout_.bytes : 0);
  if (!whole.empty()) driver_.download(whole.data(), base_, whole.size());
  std::vector<std::byte> bytes;
  for (const Span& guard : guards)
    for (uint64_t begin = guard.begin; begin < guard.end(); begin += kTogether) {
      const uint64_t count = std::min(kTogether, guard.end() - begin);
      bytes.resize(count);
      if (whole.empty())
        driver_.download(bytes.data(), base_ + begin, count);
      else
        memcpy(bytes.data(), whole.data() + begin, count);
      if (const auto place = first_written(bytes, begin)) return nearest(*place);
    }
  return std::nullopt;
}

Breach GuardedMemory::nearest(uint64_t place) const {
  Breach best;
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < layout_.buffers.size(); ++i) {
    const Span& buffer = layout_.buffers[i];
    const bool behind = place >= buffer.end();
    const uint64_t distance = behind                 ? place - buffer.end() + 1
                              : place < buffer.begin ? buffer.begin - place
                                                     : 0;
    if (distance >= least) continue;
    least = distance;
    best = {i, distance, behind};
  }
  return best;
}

}  // namespace bicrl::gpu
