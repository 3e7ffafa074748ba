#include "tests/gpu/gpu_driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>

#include "common/error.h"

namespace bicrl::ptx::testing {
namespace {

// Values of the driver's enumerations; source: its documentation.
constexpr int kMaxDynamicSharedBytes = 8;
constexpr uintptr_t kParameterBuffer = 1, kParameterBytes = 2, kEnd = 0;

void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(concat(what, ": error ", code, " of the GPU's driver"));
}

}  // namespace

template <class Function>
Function* GpuDriver::call(const char* name) {
  void*& known = symbols_[name];
  if (!known) known = dlsym(library_, name);
  if (!known) throw std::runtime_error(concat("the GPU's driver lacks ", name));
  return reinterpret_cast<Function*>(known);
}

GpuDriver::GpuDriver() {
  library_ = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library_) throw std::runtime_error("no GPU driver here");
  int device = 0;
  check(call<int(unsigned)>("cuInit")(0), "start");
  check(call<int(int*, int)>("cuDeviceGet")(&device, 0), "device");
  check(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context_, device), "context");
  check(call<int(void*)>("cuCtxSetCurrent")(context_), "context");
}

bool GpuDriver::load(const std::string& ptx) {
  if (module_) call<int(void*)>("cuModuleUnload")(module_);
  module_ = nullptr;
  kernels_.clear();
  return call<int(void**, const void*)>("cuModuleLoadData")(&module_, ptx.c_str()) == 0;
}

uint64_t GpuDriver::allocate(size_t bytes) {
  uint64_t address = 0;
  check(call<int(uint64_t*, size_t)>("cuMemAlloc_v2")(&address, std::max<size_t>(bytes, 1)), "allocation");
  return address;
}

void GpuDriver::release(uint64_t address) { check(call<int(uint64_t)>("cuMemFree_v2")(address), "release"); }

void GpuDriver::upload(uint64_t address, const void* bytes, size_t count) {
  check(call<int(uint64_t, const void*, size_t)>("cuMemcpyHtoD_v2")(address, bytes, count), "upload");
}

std::vector<char> GpuDriver::download(uint64_t address, size_t count) {
  std::vector<char> bytes(count);
  check(call<int(void*, uint64_t, size_t)>("cuMemcpyDtoH_v2")(bytes.data(), address, count), "download");
  return bytes;
}

void GpuDriver::run(const std::string& kernel, const GpuLaunch& launch) {
  start(kernel, launch);
  check(call<int()>("cuCtxSynchronize")(), "run");
}

void GpuDriver::start(const std::string& kernel, const GpuLaunch& launch) {
  void*& function = kernels_[kernel];
  if (!function)
    check(call<int(void**, void*, const char*)>("cuModuleGetFunction")(&function, module_, kernel.c_str()),
          "kernel");
  if (launch.shared_bytes > 48 * 1024)
    check(call<int(void*, int, int)>("cuFuncSetAttribute")(function, kMaxDynamicSharedBytes,
                                                           static_cast<int>(launch.shared_bytes)),
          "shared memory");
  std::string parameters = launch.parameters;
  size_t bytes = parameters.size();
  void* extra[] = {reinterpret_cast<void*>(kParameterBuffer), parameters.data(),
                   reinterpret_cast<void*>(kParameterBytes), &bytes, reinterpret_cast<void*>(kEnd)};
  using Launch =
      int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  const auto& g = launch.grid;
  const auto& b = launch.block;
  check(call<Launch>("cuLaunchKernel")(function, g[0], g[1], g[2], b[0], b[1], b[2], launch.shared_bytes,
                                       nullptr, nullptr, extra),
        "launch");
}

void GpuDriver::fill(uint64_t address, size_t count) {
  check(call<int(uint64_t, unsigned char, size_t, void*)>("cuMemsetD8Async")(address, 0, count, nullptr),
        "fill");
}

double GpuDriver::timed_ms(const std::function<void()>& work) {
  for (void*& event : events_)
    if (!event) check(call<int(void**, unsigned)>("cuEventCreate")(&event, 0), "event");
  check(call<int(void*, void*)>("cuEventRecord")(events_[0], nullptr), "event");
  work();
  check(call<int(void*, void*)>("cuEventRecord")(events_[1], nullptr), "event");
  check(call<int(void*)>("cuEventSynchronize")(events_[1]), "run");
  float ms = 0;
  check(call<int(float*, void*, void*)>("cuEventElapsedTime")(&ms, events_[0], events_[1]), "event");
  return static_cast<double>(ms);
}

}  // namespace bicrl::ptx::testing
