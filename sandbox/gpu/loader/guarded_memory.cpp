#include "sandbox/gpu/loader/guarded_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "sandbox/interpreter/ptx/execution/device_memory.h"

namespace bicrl::gpu {
namespace {

constexpr uint64_t kTogether = 4 << 20;     // a piece that is looked at in one go
constexpr uint64_t kWorthACopy = 64 << 10;  // bytes that a device sends in the time that another copy takes

// The first byte that is no poison; `begin`: where the bytes lie in the allocation, whose bytes begin even.
std::optional<uint64_t> first_written(std::span<const std::byte> bytes, uint64_t begin) {
  constexpr std::byte kBytes[2] = {std::byte{ptx::kPoisonWord & 0xFF}, std::byte{ptx::kPoisonWord >> 8}};
  const auto is_poison = [&](uint64_t i) { return bytes[i] == kBytes[(begin + i) % 2]; };
  // Nearly always all of it is: two that are right, and each like the one two before it.
  if (bytes.size() >= 2 && is_poison(0) && is_poison(1) &&
      memcmp(bytes.data(), bytes.data() + 2, bytes.size() - 2) == 0)
    return std::nullopt;
  for (uint64_t i = 0; i < bytes.size(); ++i)
    if (!is_poison(i)) return begin + i;
  return std::nullopt;
}

}  // namespace

GuardedMemory::GuardedMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes, uint64_t seed,
                             bool is_shared)
    : driver_(driver),
      layout_(lay_out(buffer_bytes, seed)),
      shared_(is_shared ? driver.allocate_shared(layout_.bytes) : SharedAllocation{}),
      base_(is_shared ? shared_.address : driver.allocate(layout_.bytes)) {
  poison({0, layout_.bytes});
}

// Where the device is lost, its driver wipes.
GuardedMemory::~GuardedMemory() {
  if (base_ == 0) return;
  try {
    driver_.fill(base_, 4, 0, layout_.bytes / 4);
    shared() ? driver_.release(shared_) : driver_.release(base_);
  } catch (const DriverError&) {
  }
}

void GuardedMemory::poison(const Span& span) {
  // Words by the device, two at a time where they can be; a buffer of an odd size ends within one.
  constexpr uint32_t kTwoWords = uint32_t{ptx::kPoisonWord} << 16 | ptx::kPoisonWord;
  const uint64_t of_two = span.begin % 4 == 0 ? span.bytes / 4 * 4 : 0;
  driver_.fill(base_ + span.begin, 4, kTwoWords, of_two / 4);
  driver_.fill(base_ + span.begin + of_two, 2, ptx::kPoisonWord, (span.bytes - of_two) / 2);
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
  uint64_t guard_bytes = 0;
  for (const Span& guard : guards) guard_bytes += guard.bytes;
  const bool whole = layout_.bytes <= kTogether && layout_.bytes <= guard_bytes + guards.size() * kWorthACopy;
  looked_at_.resize(std::max(looked_at_.size(), whole ? layout_.bytes : std::min(guard_bytes, kTogether)));
  if (whole) driver_.download(looked_at_.data(), base_, layout_.bytes);
  for (const Span& guard : guards)
    for (uint64_t begin = guard.begin; begin < guard.end(); begin += kTogether) {
      const uint64_t count = std::min(kTogether, guard.end() - begin);
      if (!whole) driver_.download(looked_at_.data(), base_ + begin, count);
      const std::byte* const bytes = looked_at_.data() + (whole ? begin : 0);
      if (const auto place = first_written({bytes, count}, begin)) return nearest(*place);
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
