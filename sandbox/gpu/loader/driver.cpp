#include "sandbox/gpu/loader/driver.h"

#include <dlfcn.h>

#include <thread>

namespace bicrl::gpu {
namespace {

// Values and structures of the driver's interface; source: NVIDIA, "CUDA Driver API", version 13.0.
constexpr int kNotReady = 600, kNotFound = 500;
constexpr int kDeviceMultiprocessors = 16, kDeviceMajor = 75, kDeviceMinor = 76, kDeviceMaxShared = 97,
              kDevicePageableAccess = 88, kDeviceMemoryKhz = 36, kDeviceBusBits = 37, kDeviceL2 = 38,
              kDeviceResidentThreads = 39, kDeviceVirtualMemory = 102, kDeviceDescriptors = 103;
constexpr int kKernelMaxThreads = 0, kKernelShared = 1, kKernelLocal = 3, kKernelMaxDynamicShared = 8;
constexpr uintptr_t kParameterBuffer = 1, kParameterBytes = 2, kEnd = 0;
// Most copies take less than it takes to be woken up behind them; others may have the processor meanwhile.
constexpr unsigned kYield = 2;
constexpr int kCooperative = 2;

constexpr const char* kNoDriver =
    "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded): install it";

struct LaunchAttribute {
  int id = 0;
  char padding[4] = {};
  union {
    char bytes[64];
    int number;
  } value = {};
};

struct LaunchConfiguration {
  unsigned grid[3], block[3];
  unsigned shared_bytes = 0;
  void* stream = nullptr;
  LaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

// Looks functions up, which are null if the driver lacks them.
struct FunctionFinder {
  void* library;
  std::string missing = {};  // the last of those

  template <class Function>
  void operator()(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) missing = name;
  }
};

// A device answers within microseconds or not for long.
constexpr auto kBusyWait = std::chrono::microseconds(200), kPause = std::chrono::microseconds(100);

}  // namespace

Result<int> count_devices() {
  using Reply = Result<int>;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return Reply::failure(kNoDriver);
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int devices = 0, code = init && count ? init(0) : kNotFound;
  if (code == 0) code = count(&devices);
  if (code != 0) return Reply::failure(concat("the NVIDIA driver does not count its devices (", code, ")"));
  return devices;
}

void Driver::check(int code, const char* what) const {
  if (code == 0) return;
  const char* name = nullptr;
  if (call_.error_name) call_.error_name(code, &name);
  throw DriverError(code, concat(what, ": ", name ? name : "an error without a name", " (", code, ")"));
}

std::string Driver::find_functions(void* library) {
  FunctionFinder find{library};
  Interface& c = call_;
  find(c.init, "cuInit");
  find(c.driver_version, "cuDriverGetVersion");
  find(c.device_get, "cuDeviceGet");
  find(c.device_name, "cuDeviceGetName");
  find(c.device_attribute, "cuDeviceGetAttribute");
  find(c.device_memory, "cuDeviceTotalMem_v2");
  find(c.context_retain, "cuDevicePrimaryCtxRetain");
  find(c.context_flags, "cuDevicePrimaryCtxSetFlags_v2");
  find(c.context_set, "cuCtxSetCurrent");
  find(c.allocate, "cuMemAlloc_v2");
  find(c.release, "cuMemFree_v2");
  find(c.upload, "cuMemcpyHtoD_v2");
  find(c.download, "cuMemcpyDtoH_v2");
  find(c.copy, "cuMemcpyDtoD_v2");
  find(c.fill8, "cuMemsetD8_v2");
  find(c.fill16, "cuMemsetD16_v2");
  find(c.fill32, "cuMemsetD32_v2");
  find(c.load, "cuModuleLoadData");
  find(c.unload, "cuModuleUnload");
  find(c.kernel, "cuModuleGetFunction");
  find(c.variable, "cuModuleGetGlobal_v2");
  find(c.attribute, "cuFuncGetAttribute");
  find(c.set_attribute, "cuFuncSetAttribute");
  find(c.launch, "cuLaunchKernelEx");
  find(c.stream_query, "cuStreamQuery");
  find(c.error_name, "cuGetErrorName");
  find(c.bus, "cuDeviceGetPCIBusId");
  find(c.stream_create, "cuStreamCreate");
  find(c.copy_async, "cuMemcpyDtoDAsync_v2");
  find(c.fill8_async, "cuMemsetD8Async");
  find(c.fill16_async, "cuMemsetD16Async");
  find(c.fill32_async, "cuMemsetD32Async");
  find(c.event_create, "cuEventCreate");
  find(c.event_record, "cuEventRecord");
  find(c.event_query, "cuEventQuery");
  find(c.event_elapsed, "cuEventElapsedTime");
  find(c.capture_begin, "cuStreamBeginCapture_v2");
  find(c.capture_end, "cuStreamEndCapture");
  find(c.graph_instantiate, "cuGraphInstantiateWithFlags");
  find(c.graph_upload, "cuGraphUpload");
  find(c.graph_launch, "cuGraphLaunch");
  find(c.graph_destroy, "cuGraphDestroy");
  find(c.graph_exec_destroy, "cuGraphExecDestroy");
  return find.missing;
}

std::string Driver::find_shared_memory(void* library) {
  FunctionFinder find{library};
  Interface& c = call_;
  find(c.memory_create, "cuMemCreate");
  find(c.memory_release, "cuMemRelease");
  find(c.memory_export, "cuMemExportToShareableHandle");
  find(c.memory_import, "cuMemImportFromShareableHandle");
  find(c.memory_granularity, "cuMemGetAllocationGranularity");
  find(c.address_reserve, "cuMemAddressReserve");
  find(c.address_free, "cuMemAddressFree");
  find(c.memory_map, "cuMemMap");
  find(c.memory_unmap, "cuMemUnmap");
  find(c.memory_access, "cuMemSetAccess");
  return find.missing;
}

void Driver::describe() {
  const auto attribute = [&](int which) {
    int value = 0;
    check(call_.device_attribute(&value, which, number_), "an attribute of the GPU");
    return value;
  };
  DeviceDescription& d = device_;
  check(call_.driver_version(&d.driver_version), "the NVIDIA driver's version");
  char name[256] = {};
  check(call_.device_name(name, sizeof name, number_), "the GPU's name");
  d.name = name;
  d.architecture = concat("sm_", attribute(kDeviceMajor), attribute(kDeviceMinor));
  d.multiprocessors = attribute(kDeviceMultiprocessors);
  d.max_shared_bytes = static_cast<uint32_t>(attribute(kDeviceMaxShared));
  d.reaches_host_memory = attribute(kDevicePageableAccess) != 0;
  d.shares_memory =
      d.shares_memory && attribute(kDeviceVirtualMemory) != 0 && attribute(kDeviceDescriptors) != 0;
  d.l2_bytes = static_cast<uint64_t>(attribute(kDeviceL2));
  d.resident_threads = static_cast<uint32_t>(attribute(kDeviceResidentThreads));
  // Two transfers in a cycle.
  d.memory_gb_per_s = 2e-6 * attribute(kDeviceMemoryKhz) * attribute(kDeviceBusBits) / 8;
  char bus[64] = {};
  check(call_.bus(bus, sizeof bus, number_), "the GPU's place on the bus");
  d.bus = bus;
  size_t bytes = 0;
  check(call_.device_memory(&bytes, number_), "the GPU's memory");
  d.memory_bytes = bytes;
}

void Driver::make_context() {
  void* context = nullptr;
  check(call_.context_flags(number_, kYield), "the GPU's context");
  check(call_.context_retain(&context, number_), "no context on the GPU");
  check(call_.context_set(context), "no context on the GPU");
}

Result<Driver> Driver::open(int device) {
  using Reply = Result<Driver>;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return Reply::failure(kNoDriver);
  Driver driver;
  driver.device_.shares_memory = driver.find_shared_memory(library).empty();
  if (const std::string missing = driver.find_functions(library); !missing.empty())
    return Reply::failure(
        concat("the NVIDIA driver is too old: it lacks ", missing, ". Install a newer one"));
  try {
    driver.check(driver.call_.init(0), "the NVIDIA driver does not start");
    driver.check(driver.call_.device_get(&driver.number_, device),
                 concat("GPU ", device, " is not there").c_str());
    driver.describe();
    driver.make_context();
  } catch (const DriverError& error) {
    return Reply::failure(error.what());
  }
  return driver;
}

DeviceAddress Driver::allocate(uint64_t bytes) {
  DeviceAddress address = 0;
  check(call_.allocate(&address, bytes), "memory");
  return address;
}

void Driver::release(DeviceAddress address) { check(call_.release(address), "releasing memory"); }

void Driver::upload(DeviceAddress to, const void* from, uint64_t bytes) {
  if (bytes > 0) check(call_.upload(to, from, bytes), "a copy to the GPU");
}

void Driver::download(void* to, DeviceAddress from, uint64_t bytes) {
  if (bytes > 0) check(call_.download(to, from, bytes), "a copy from the GPU");
}

void Driver::copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
  if (bytes > 0) check(call_.copy(to, from, bytes), "a copy on the GPU");
}

void Driver::fill(DeviceAddress to, size_t element_bytes, uint32_t element, uint64_t count) {
  if (count == 0) return;
  int code = 0;
  if (element_bytes == 1)
    code = call_.fill8(to, static_cast<unsigned char>(element), count);
  else if (element_bytes == 2)
    code = call_.fill16(to, static_cast<unsigned short>(element), count);
  else
    code = call_.fill32(to, element, count);
  check(code, "a fill");
}

ModuleHandle Driver::load(const std::string& machine_code) {
  ModuleHandle module = nullptr;
  check(call_.load(&module, machine_code.data()), "loading machine code");
  return module;
}

void Driver::unload(ModuleHandle module) { check(call_.unload(module), "unloading machine code"); }

KernelHandle Driver::kernel(ModuleHandle module, const std::string& name) {
  KernelHandle kernel = nullptr;
  check(call_.kernel(&kernel, module, name.c_str()), "finding a kernel");
  return kernel;
}

KernelAttributes Driver::attributes(KernelHandle kernel) {
  int threads = 0, shared = 0, local = 0;
  check(call_.attribute(&threads, kKernelMaxThreads, kernel), "an attribute of a kernel");
  check(call_.attribute(&shared, kKernelShared, kernel), "an attribute of a kernel");
  check(call_.attribute(&local, kKernelLocal, kernel), "an attribute of a kernel");
  return {static_cast<uint32_t>(threads), static_cast<uint32_t>(shared), static_cast<uint32_t>(local)};
}

void Driver::allow_shared_bytes(KernelHandle kernel, uint32_t bytes) {
  check(call_.set_attribute(kernel, kKernelMaxDynamicShared, static_cast<int>(bytes)), "shared memory");
}

Driver::Variable Driver::variable(ModuleHandle module, const std::string& name) {
  Variable found;
  size_t bytes = 0;
  const int code = call_.variable(&found.address, &bytes, module, name.c_str());
  if (code == kNotFound) return {};
  check(code, "finding a variable");
  found.bytes = bytes;
  return found;
}

void Driver::start(KernelHandle kernel, const Launch& launch, StreamHandle stream) {
  size_t bytes = launch.parameters.size();
  void* extra[] = {reinterpret_cast<void*>(kParameterBuffer), const_cast<char*>(launch.parameters.data()),
                   reinterpret_cast<void*>(kParameterBytes), &bytes, reinterpret_cast<void*>(kEnd)};
  LaunchAttribute cooperative;
  cooperative.id = kCooperative;
  cooperative.value.number = 1;
  LaunchConfiguration configuration{.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                    .block = {launch.block[0], launch.block[1], launch.block[2]},
                                    .shared_bytes = launch.shared_bytes,
                                    .stream = stream};
  if (launch.cooperative) {
    configuration.attributes = &cooperative;
    configuration.attribute_count = 1;
  }
  check(call_.launch(&configuration, kernel, nullptr, extra), "a launch");
}

bool Driver::wait(Deadline deadline) {
  using Clock = std::chrono::steady_clock;
  for (const auto start = Clock::now();;) {
    const int code = call_.stream_query(nullptr);
    if (code != kNotReady) {
      check(code, "a kernel");
      return true;
    }
    const auto now = Clock::now();
    if (now > deadline) return false;
    if (now - start > kBusyWait) std::this_thread::sleep_for(kPause);
  }
}

void Driver::finish(std::chrono::seconds limit, const char* work) {
  if (!wait(std::chrono::steady_clock::now() + limit))
    throw DriverError(0,
                      concat("the device does not come back from ", work, " within ", limit.count(), " s"));
}

}  // namespace bicrl::gpu
