// Memory that processes share: the driver's virtual memory calls.
#include <unistd.h>

#include "sandbox/gpu/loader/driver.h"

namespace bicrl::gpu {
namespace {

// Values and structures as in driver.cpp.
constexpr int kPinned = 1, kOnDevice = 1, kPosixDescriptor = 1, kRead = 1, kReadWrite = 3, kMinimum = 0;

struct Location {
  int type = kOnDevice;
  int id = 0;
};

struct AllocationProperties {
  int type = kPinned;
  int handle_types = kPosixDescriptor;
  Location location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};

struct AccessDescription {
  Location location;
  int flags = 0;
};

uint64_t whole_pieces(uint64_t bytes, uint64_t piece) { return (bytes + piece - 1) / piece * piece; }

}  // namespace

uint64_t Driver::shared_granularity() const {
  AllocationProperties properties;
  properties.location.id = number_;
  size_t bytes = 0;
  check(call_.memory_granularity(&bytes, &properties, kMinimum), "shared memory");
  return bytes;
}

SharedAllocation Driver::map(unsigned long long handle, uint64_t bytes, int access) const {
  SharedAllocation memory{.address = 0, .bytes = bytes, .handle = handle};
  check(call_.address_reserve(&memory.address, bytes, 0, 0, 0), "addresses of shared memory");
  check(call_.memory_map(memory.address, bytes, 0, handle, 0), "mapping shared memory");
  AccessDescription allowed;
  allowed.location.id = number_;
  allowed.flags = access;
  check(call_.memory_access(memory.address, bytes, &allowed, 1), "access to shared memory");
  return memory;
}

SharedAllocation Driver::allocate_shared(uint64_t bytes) {
  AllocationProperties properties;
  properties.location.id = number_;
  bytes = whole_pieces(bytes, shared_granularity());
  unsigned long long handle = 0;
  check(call_.memory_create(&handle, bytes, &properties, 0), "shared memory");
  SharedAllocation memory = map(handle, bytes, kReadWrite);
  check(call_.memory_export(&memory.descriptor, handle, kPosixDescriptor, 0), "sharing memory");
  return memory;
}

SharedAllocation Driver::map_shared(int descriptor, uint64_t bytes) {
  unsigned long long handle = 0;
  check(call_.memory_import(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
                            kPosixDescriptor),
        "another process's memory");
  return map(handle, whole_pieces(bytes, shared_granularity()), kRead);
}

void Driver::release(SharedAllocation& memory) {
  if (memory.address == 0) return;
  // Unlike cuMemFree, an unmap does not wait for fills that are under way: they would fault.
  finish(std::chrono::seconds(30), "fills of shared memory");
  if (memory.descriptor >= 0) close(memory.descriptor);
  check(call_.memory_unmap(memory.address, memory.bytes), "unmapping shared memory");
  check(call_.memory_release(memory.handle), "releasing shared memory");
  check(call_.address_free(memory.address, memory.bytes), "addresses of shared memory");
  memory = {};
}

}  // namespace bicrl::gpu
