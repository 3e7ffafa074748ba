#include "tests/trainer/counting_allocator.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <unordered_map>
#include <utility>

namespace bicrl::testing {
namespace {

constexpr uint8_t kPriority = 255;  // nobody else's is higher

// Outlives every tensor whose memory it gave out, as deleters refer to it.
struct Count {
  std::mutex mutex;
  int64_t now = 0, peak = 0;
  std::map<int64_t, int64_t> blocks, at_peak;
  std::unordered_map<void*, std::pair<c10::DataPtr, int64_t>> memory;  // by address, with its size

  void add(c10::DataPtr taken, int64_t bytes) {
    const std::lock_guard lock(mutex);
    void* const address = taken.get();
    memory.emplace(address, std::pair(std::move(taken), bytes));
    now += bytes;
    ++blocks[bytes];
    if (now <= peak) return;
    peak = now;
    at_peak = blocks;
  }
  void remove(void* address) {
    const std::lock_guard lock(mutex);
    const auto found = memory.find(address);
    const int64_t bytes = found->second.second;
    memory.erase(found);
    now -= bytes;
    if (--blocks[bytes] == 0) blocks.erase(bytes);
  }
};

Count& count() {
  static auto* const kCount = new Count;
  return *kCount;
}

void give_back(void* address) {
  if (address) count().remove(address);
}

// Some operations take memory by raw_allocate(), which wants the address itself as the context.
class Counting : public c10::Allocator {
 public:
  explicit Counting(c10::Allocator& inner) : inner_(inner) {}
  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr memory = inner_.allocate(bytes);
    void* const address = memory.get();
    const c10::Device device = memory.device();
    if (address) count().add(std::move(memory), static_cast<int64_t>(bytes));
    return {address, address, give_back, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  c10::Allocator& inner_;
};

}  // namespace

CountedMemory::CountedMemory() : before_(c10::GetAllocator(c10::DeviceType::CPU)) {
  static auto* const kCounting = new Counting(*before_);
  {
    const std::lock_guard lock(count().mutex);
    count().peak = count().now;
  }
  c10::SetAllocator(c10::DeviceType::CPU, kCounting, kPriority);
}

CountedMemory::~CountedMemory() { c10::SetAllocator(c10::DeviceType::CPU, before_, kPriority); }

int64_t CountedMemory::now_bytes() const {
  const std::lock_guard lock(count().mutex);
  return count().now;
}

int64_t CountedMemory::peak_bytes() const {
  const std::lock_guard lock(count().mutex);
  return count().peak;
}

void CountedMemory::restart_peak() {
  const std::lock_guard lock(count().mutex);
  count().peak = count().now;
}

std::map<int64_t, int64_t> CountedMemory::blocks_at_peak() const {
  const std::lock_guard lock(count().mutex);
  return count().at_peak;
}

}  // namespace bicrl::testing
