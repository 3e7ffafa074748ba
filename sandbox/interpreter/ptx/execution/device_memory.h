// Global memory of the interpreter: buffers whose address ranges lie far apart, so that an access is inside
// exactly one of them or a fault. Addresses differ from run to run (by the seed), and every byte that is
// uninitialised holds poison: the 16-bit word 0x7FF1, a NaN in fp16, bf16, fp32 and fp64 alike. Memory that
// is made when it is touched holds zeros instead: a sample of blocks runs in it at sizes that would not fit.
// Not thread-safe; owns its bytes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"

namespace bicrl::ptx {

constexpr uint16_t kPoisonWord = 0x7FF1;
// Fills with poison as memory that begins at an even address holds it.
void fill_poison(std::span<std::byte> bytes);

// Who wrote a byte last.
enum class Writer : uint8_t {
  kNobody,  // poison
  kInput,   // an input of the task, or a copy of one
  kHost,    // a fill or an upload by the host part
  kKernel
};

struct BufferRelease {
  uint64_t mapped_bytes = 0;  // 0: of the heap
  void operator()(std::byte* data) const;
};

class DeviceMemory {
 public:
  enum class Permission : uint8_t { kReadOnly, kReadWrite };

  struct Options {
    uint64_t max_bytes = uint64_t{2} << 30;  // of all buffers together
    uint64_t seed = 0;                       // of the order of addresses
    // Keep for every byte who wrote it and which of its bits were never written.
    bool shadows = false;
    bool made_when_touched = false;  // zeros, of which only touched pages exist; not with shadows
  };

  using Bytes = std::unique_ptr<std::byte[], BufferRelease>;

  struct Buffer {
    uint64_t address = 0;  // of its first byte; a multiple of 512
    uint64_t bytes = 0;
    Permission permission = Permission::kReadWrite;
    Bytes data;                            // of `bytes` and some more, so that a vector load may pass the end
    std::unique_ptr<uint8_t[]> undefined;  // [bytes] with shadows: bits that were never written
    std::unique_ptr<uint8_t[]> writers;    // [bytes] with shadows: Writer
    uint64_t end() const { return address + bytes; }
  };
  using BufferId = uint32_t;

  explicit DeviceMemory(const Options& options);

  // Full of poison. Fails if the limit is reached.
  Result<BufferId> allocate(uint64_t bytes, Permission permission);
  Buffer& buffer(BufferId id) { return buffers_[id]; }
  const Buffer& buffer(BufferId id) const { return buffers_[id]; }
  size_t size() const { return buffers_.size(); }
  uint64_t bytes() const { return bytes_; }
  bool has_shadows() const { return options_.shadows; }

  // The buffer whose window holds `address`, whether or not the address is inside the buffer itself; null
  // if there is none.
  Buffer* window(uint64_t address) {
    const uint64_t index = address >> kWindowBits;
    return index < windows_.size() && windows_[index] != kNone ? &buffers_[windows_[index]] : nullptr;
  }

  // From now on an access to it is outside of every buffer; its bytes stay for whoever holds the number.
  void release(BufferId id) { set_windows(buffers_[id], kNone); }

  // Copies bytes in, as if `writer` had written them. Throws Error outside of the buffer.
  void write(BufferId id, uint64_t offset, std::string_view bytes, Writer writer);

  // Each buffer has a window of addresses of its own and begins in its middle: what misses it by less than 8
  // GiB cannot hit another one. Memory that is made when touched has as many windows in a row as it needs.
  static constexpr int kWindowBits = 34;

 private:
  static constexpr BufferId kNone = ~BufferId{0};
  static constexpr uint64_t kWindows = uint64_t{1} << 13;  // addresses stay below 2^47, as on a device

  Bytes made(uint64_t bytes) const;  // null: there is no such memory
  void set_windows(const Buffer& buffer, BufferId id);

  Options options_;
  std::vector<Buffer> buffers_;
  std::vector<BufferId> windows_;  // by address >> kWindowBits
  std::vector<uint16_t> order_;    // of windows that are given out
  size_t used_windows_ = 0;        // of order_
  uint64_t bytes_ = 0;
};

// The windows of generic addresses that are not global memory; below all buffers.
constexpr uint64_t kSharedWindow = uint64_t{1} << 32;
constexpr uint64_t kLocalWindow = uint64_t{2} << 32;
constexpr uint64_t kWindowBytes = uint64_t{1} << 24;  // of each

}  // namespace bicrl::ptx
