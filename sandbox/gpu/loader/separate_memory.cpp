#include "sandbox/gpu/loader/separate_memory.h"

#include <algorithm>

#include "common/error.h"

namespace bicrl::gpu {

SeparateMemory::SeparateMemory(Driver& driver, const std::vector<uint64_t>& buffer_bytes)
    : driver_(driver), released_(buffer_bytes.size()) {
  // The driver has no empty allocations, and each buffer has an address.
  for (const uint64_t bytes : buffer_bytes)
    addresses_.push_back(driver.allocate(std::max<uint64_t>(bytes, 1)));
}

SeparateMemory::~SeparateMemory() {
  try {
    for (size_t i = 0; i < addresses_.size(); ++i)
      if (!released_[i]) driver_.release(addresses_[i]);
  } catch (const DriverError&) {  // the device is lost, and all of it with it
  }
}

void SeparateMemory::release(size_t buffer) {
  if (released_[buffer]) return;
  driver_.release(addresses_[buffer]);
  released_[buffer] = true;
}

void SeparateMemory::renew() { BICRL_CHECK(false, "buffers with allocations of their own are not renewed"); }

}  // namespace bicrl::gpu
