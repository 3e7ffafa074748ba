// NVIDIA's driver, loaded at run time, so that a program that may use a GPU starts on machines without one.
// One context on one device, used by one thread. What names no stream is in order with all else and, but for
// fills and launches, done when the call returns. Whatever the driver refuses throws DriverError.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "common/error.h"

namespace bicrl::gpu {

// `code` is the driver's (CUresult); 0 where the driver has not spoken.
class DriverError : public std::runtime_error {
 public:
  DriverError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

struct DeviceDescription {
  std::string name;          // "NVIDIA H200"
  std::string architecture;  // "sm_90"
  int driver_version = 0;    // 13000: of CUDA that the driver knows
  std::string bus;           // "0000:18:00.0": where NVML finds it
  int multiprocessors = 0;
  uint64_t memory_bytes = 0, l2_bytes = 0;
  double memory_gb_per_s = 0;        // its peak rate; 0 if the driver does not say
  uint32_t resident_threads = 0;     // that a multiprocessor holds at most
  bool reaches_host_memory = false;  // kernels may load and store any address of the process
  uint32_t max_shared_bytes = 0;     // of a block, if the kernel is allowed it
  bool shares_memory = false;        // allocations can be given to other processes as descriptors
};

struct Launch {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::string_view parameters;
};

// What machine code says of a kernel.
struct KernelAttributes {
  uint32_t max_threads = 0;  // of a block: launch bounds, and what its registers leave
  uint32_t static_shared_bytes = 0;
  uint32_t local_bytes = 0;  // of a thread
};

using DeviceAddress = uint64_t;
using ModuleHandle = void*;
using KernelHandle = void*;
using StreamHandle = void*;
using EventHandle = void*;
using GraphHandle = void*;

// Memory of the device that another process has, or can have, as a descriptor.
struct SharedAllocation {
  DeviceAddress address = 0;
  uint64_t bytes = 0;  // that are mapped
  unsigned long long handle = 0;
  int descriptor = -1;  // of one that was made here; closed with it
};

// How many devices the driver shows to this process; fails like Driver::open().
Result<int> count_devices();

class Driver {
 public:
  // Fails with one line if there is no driver, no such device, or the driver is too old for what is used
  // here.
  static Result<Driver> open(int device);
  const DeviceDescription& device() const { return device_; }

  DeviceAddress allocate(uint64_t bytes);
  void release(DeviceAddress address);
  void upload(DeviceAddress to, const void* from, uint64_t bytes);
  void download(void* to, DeviceAddress from, uint64_t bytes);
  void copy(DeviceAddress to, DeviceAddress from, uint64_t bytes);
  // So many elements of 1, 2 or 4 bytes.
  void fill(DeviceAddress to, size_t element_bytes, uint32_t element, uint64_t count);

  // ---- Shared memory (driver_sharing.cpp), of devices that share it ----
  SharedAllocation allocate_shared(uint64_t bytes);
  // Another process's, to be read: a kernel that writes there is at fault.
  SharedAllocation map_shared(int descriptor, uint64_t bytes);
  void release(SharedAllocation& memory);  // when the device has done everything

  ModuleHandle load(const std::string& machine_code);
  void unload(ModuleHandle module);
  KernelHandle kernel(ModuleHandle module, const std::string& name);
  KernelAttributes attributes(KernelHandle kernel);
  void allow_shared_bytes(KernelHandle kernel, uint32_t bytes);
  struct Variable {
    DeviceAddress address = 0;
    uint64_t bytes = 0;
  };
  // Nothing (0 bytes) if the machine code has no such variable.
  Variable variable(ModuleHandle module, const std::string& name);

  // Returns at once.
  void start(KernelHandle kernel, const Launch& launch, StreamHandle stream = nullptr);
  // Waits until the device has done everything. False if it has not by then.
  using Deadline = std::chrono::steady_clock::time_point;
  bool wait(Deadline deadline);
  // The same for work of the verifier's own, which ends soon whatever programs do: throws DriverError if not.
  void finish(std::chrono::seconds limit, const char* work);

  // ---- Streams, for what is timed. They wait for nothing outside of them (driver_streams.cpp). ----
  StreamHandle make_stream();
  void enqueue_copy(DeviceAddress to, DeviceAddress from, uint64_t bytes, StreamHandle stream);
  void enqueue_fill(DeviceAddress to, size_t element_bytes, uint32_t element, uint64_t count,
                    StreamHandle stream);
  EventHandle make_event();
  void record(EventHandle event, StreamHandle stream);
  bool reached(EventHandle event);  // asks the device without waiting
  double elapsed_ms(EventHandle from, EventHandle to);
  // What is put into the stream meanwhile is not done but kept, ready to be launched as one.
  void begin_capture(StreamHandle stream);
  GraphHandle end_capture(StreamHandle stream);
  void launch(GraphHandle graph, StreamHandle stream);
  void destroy(GraphHandle graph);

 private:
  Driver() = default;
  void check(int code, const char* what) const;
  struct Interface {
    int (*init)(unsigned) = nullptr;
    int (*driver_version)(int*) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*device_name)(char*, int, int) = nullptr;
    int (*device_attribute)(int*, int, int) = nullptr;
    int (*device_memory)(size_t*, int) = nullptr;
    int (*context_retain)(void**, int) = nullptr;
    int (*context_flags)(int, unsigned) = nullptr;
    int (*context_set)(void*) = nullptr;
    int (*allocate)(uint64_t*, size_t) = nullptr;
    int (*release)(uint64_t) = nullptr;
    int (*upload)(uint64_t, const void*, size_t) = nullptr;
    int (*download)(void*, uint64_t, size_t) = nullptr;
    int (*copy)(uint64_t, uint64_t, size_t) = nullptr;
    int (*fill8)(uint64_t, unsigned char, size_t) = nullptr;
    int (*fill16)(uint64_t, unsigned short, size_t) = nullptr;
    int (*fill32)(uint64_t, unsigned, size_t) = nullptr;
    int (*load)(void**, const void*) = nullptr;
    int (*unload)(void*) = nullptr;
    int (*kernel)(void**, void*, const char*) = nullptr;
    int (*variable)(uint64_t*, size_t*, void*, const char*) = nullptr;
    int (*attribute)(int*, int, void*) = nullptr;
    int (*set_attribute)(void*, int, int) = nullptr;
    int (*launch)(const void*, void*, void**, void**) = nullptr;
    int (*stream_query)(void*) = nullptr;
    int (*error_name)(int, const char**) = nullptr;
    int (*bus)(char*, int, int) = nullptr;
    int (*stream_create)(void**, unsigned) = nullptr;
    int (*copy_async)(uint64_t, uint64_t, size_t, void*) = nullptr;
    int (*fill8_async)(uint64_t, unsigned char, size_t, void*) = nullptr;
    int (*fill16_async)(uint64_t, unsigned short, size_t, void*) = nullptr;
    int (*fill32_async)(uint64_t, unsigned, size_t, void*) = nullptr;
    int (*event_create)(void**, unsigned) = nullptr;
    int (*event_record)(void*, void*) = nullptr;
    int (*event_query)(void*) = nullptr;
    int (*event_elapsed)(float*, void*, void*) = nullptr;
    int (*capture_begin)(void*, int) = nullptr;
    int (*capture_end)(void*, void**) = nullptr;
    int (*graph_instantiate)(void**, void*, unsigned long long) = nullptr;
    int (*graph_upload)(void*, void*) = nullptr;
    int (*graph_launch)(void*, void*) = nullptr;
    int (*graph_destroy)(void*) = nullptr;
    int (*graph_exec_destroy)(void*) = nullptr;
    // Null where the driver has none.
    int (*memory_create)(unsigned long long*, size_t, const void*, unsigned long long) = nullptr;
    int (*memory_release)(unsigned long long) = nullptr;
    int (*memory_export)(void*, unsigned long long, int, unsigned long long) = nullptr;
    int (*memory_import)(unsigned long long*, void*, int) = nullptr;
    int (*memory_granularity)(size_t*, const void*, int) = nullptr;
    int (*address_reserve)(uint64_t*, size_t, size_t, uint64_t, unsigned long long) = nullptr;
    int (*address_free)(uint64_t, size_t) = nullptr;
    int (*memory_map)(uint64_t, size_t, size_t, unsigned long long, unsigned long long) = nullptr;
    int (*memory_unmap)(uint64_t, size_t) = nullptr;
    int (*memory_access)(uint64_t, size_t, const void*, size_t) = nullptr;
  };
  SharedAllocation map(unsigned long long handle, uint64_t bytes, int access) const;
  uint64_t shared_granularity() const;
  // Each returns the name of a function that the driver lacks; empty: it has all.
  std::string find_functions(void* library);
  std::string find_shared_memory(void* library);  // which only some drivers have
  void describe();
  void make_context();

  Interface call_;
  DeviceDescription device_;
  int number_ = 0;  // of the device, as the driver has it
};

}  // namespace bicrl::gpu
