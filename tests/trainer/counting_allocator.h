// Counts what tensors in host memory take, exactly. To be included before Catch2, as it brings torch.
#pragma once
#include <c10/core/Allocator.h>

#include <cstdint>
#include <map>

namespace bicrl::testing {

// While it lives, memory of CPU tensors that is taken anew is counted, on all threads. One at a time.
class CountedMemory {
 public:
  CountedMemory();
  ~CountedMemory();
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  int64_t now_bytes() const;
  int64_t peak_bytes() const;
  void restart_peak();  // from what is in use now
  // Blocks that were in use at the peak: size -> how many.
  std::map<int64_t, int64_t> blocks_at_peak() const;

 private:
  c10::Allocator* before_;
};

}  // namespace bicrl::testing
