#include "sandbox/interpreter/ptx/execution/device_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/rng.h"

namespace bicrl::ptx {
namespace {

constexpr uint64_t kSlackBytes = 64;  // behind a buffer's data

}  // namespace

void fill_poison(std::span<std::byte> bytes) {
  constexpr std::byte kLow{kPoisonWord & 0xFF}, kHigh{kPoisonWord >> 8};
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    bytes[i] = kLow;
    bytes[i + 1] = kHigh;
  }
  if (bytes.size() % 2 == 1) bytes.back() = kLow;
}

DeviceMemory::DeviceMemory(const Options& options) : options_(options), windows_(kWindows, kNone) {
  // The first window holds no buffer: null, and the windows of shared and local memory.
  order_.resize(kWindows - 1);
  std::iota(order_.begin(), order_.end(), uint16_t{1});
  RandomStream(mix_key(options.seed, "addresses")).shuffle(order_);
}

Result<DeviceMemory::BufferId> DeviceMemory::allocate(uint64_t bytes, Permission permission) {
  if (buffers_.size() == order_.size())
    return Result<BufferId>::failure(concat("more than ", order_.size(), " buffers"));
  if (bytes > options_.max_bytes || bytes_ + bytes > options_.max_bytes)
    return Result<BufferId>::failure(concat("buffers of more than ", options_.max_bytes, " bytes in all"));
  bytes_ += bytes;
  const auto id = static_cast<BufferId>(buffers_.size());
  const uint64_t window = order_[id];
  Buffer& buffer = buffers_.emplace_back();
  buffer.address = (window << kWindowBits) + (uint64_t{1} << (kWindowBits - 1));
  buffer.bytes = bytes;
  buffer.permission = permission;
  buffer.data = std::make_unique_for_overwrite<std::byte[]>(bytes + kSlackBytes);
  fill_poison({buffer.data.get(), bytes + kSlackBytes});
  if (options_.shadows) {
    buffer.undefined = std::make_unique_for_overwrite<uint8_t[]>(bytes + kSlackBytes);
    memset(buffer.undefined.get(), 0xFF, bytes + kSlackBytes);
    buffer.writers = std::make_unique<uint8_t[]>(bytes + kSlackBytes);
  }
  windows_[window] = id;
  return Result<BufferId>(id);
}

void DeviceMemory::write(BufferId id, uint64_t offset, std::string_view bytes, Writer writer) {
  Buffer& buffer = buffers_[id];
  BICRL_CHECK(offset <= buffer.bytes && bytes.size() <= buffer.bytes - offset, bytes.size(), " bytes at ",
              offset, " of a buffer of ", buffer.bytes);
  memcpy(buffer.data.get() + offset, bytes.data(), bytes.size());
  if (!options_.shadows) return;
  memset(buffer.undefined.get() + offset, 0, bytes.size());
  memset(buffer.writers.get() + offset, static_cast<int>(writer), bytes.size());
}

}  // namespace bicrl::ptx
