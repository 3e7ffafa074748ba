#include "sandbox/interpreter/ptx/execution/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/rng.h"

namespace bicrl::ptx {
namespace {

constexpr uint64_t kSlackBytes = 64;  // behind a buffer's data
constexpr uint64_t kWindowBytesEach = uint64_t{1} << DeviceMemory::kWindowBits;
constexpr uint64_t kWindowMiddle = kWindowBytesEach / 2;

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
  // Large buffers need neighbours.
  if (!options.made_when_touched) RandomStream(mix_key(options.seed, "addresses")).shuffle(order_);
}

void BufferRelease::operator()(std::byte* data) const {
  if (mapped_bytes > 0)
    munmap(data, mapped_bytes);
  else
    delete[] data;
}

// Shared with nobody, but not private to the process either: a limit of private memory counts what is
// reserved.
DeviceMemory::Bytes DeviceMemory::made(uint64_t bytes) const {
  if (!options_.made_when_touched) {
    Bytes data(new std::byte[bytes]);
    fill_poison({data.get(), bytes});
    return data;
  }
  void* data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  return Bytes(static_cast<std::byte*>(data), BufferRelease{bytes});
}

void DeviceMemory::set_windows(const Buffer& buffer, BufferId id) {
  const uint64_t last = buffer.end() >> kWindowBits;
  for (uint64_t window = buffer.address >> kWindowBits; window <= last; ++window) windows_[window] = id;
}

Result<DeviceMemory::BufferId> DeviceMemory::allocate(uint64_t bytes, Permission permission) {
  const uint64_t windows = 1 + (kWindowMiddle + bytes) / kWindowBytesEach;
  if (used_windows_ + windows > order_.size())
    return Result<BufferId>::failure(concat("more than ", order_.size(), " buffers"));
  if (bytes > options_.max_bytes || bytes_ + bytes > options_.max_bytes)
    return Result<BufferId>::failure(concat("buffers of more than ", options_.max_bytes, " bytes in all"));
  Bytes data = made(bytes + kSlackBytes);
  if (!data) return Result<BufferId>::failure(concat("no memory for a buffer of ", bytes, " bytes"));
  bytes_ += bytes;
  const auto id = static_cast<BufferId>(buffers_.size());
  const uint64_t window = order_[used_windows_];
  used_windows_ += windows;
  Buffer& buffer = buffers_.emplace_back();
  buffer.address = (window << kWindowBits) + kWindowMiddle;
  buffer.bytes = bytes;
  buffer.permission = permission;
  buffer.data = std::move(data);
  if (options_.shadows) {
    buffer.undefined = std::make_unique_for_overwrite<uint8_t[]>(bytes + kSlackBytes);
    memset(buffer.undefined.get(), 0xFF, bytes + kSlackBytes);
    buffer.writers = std::make_unique<uint8_t[]>(bytes + kSlackBytes);
  }
  set_windows(buffer, id);
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
