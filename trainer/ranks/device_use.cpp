#include "trainer/ranks/device_use.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <chrono>
#include <exception>
#include <thread>

#include "common/error.h"
#include "common/log.h"
#include "trainer/ranks/torch_error.h"

namespace bicrl {
namespace {

// Windows take seconds: one of this length belongs to a verifier that is stopped.
constexpr double kDevicePatience_s = 600;
// In which a window that waits takes what is lent, unless another rank has it.
constexpr double kMoment_s = 0.05, kDeaf_s = 1;

std::string known_bus(const c10::Device& device) {
  if (!device.is_cuda()) return "";
  static const std::string bus = [&] {  // a rank has one GPU
    const std::string found = bus_of(device.index());
    const std::string problem =
        found.empty() ? "the driver does not say where it is" : problem_of_device_locks(found);
    if (!problem.empty())
      log_warning("a verifier that measures times on this rank's GPU does not know when it is at work: ",
                  problem);
    return found;
  }();
  return bus;
}

void wait_for(const c10::Device& device) {
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

}  // namespace

std::string bus_of(int gpu) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // open already, where PyTorch uses it
  if (!driver) return "";
  const auto function = [&](const char* name) { return dlsym(driver, name); };
  const auto init = reinterpret_cast<int (*)(unsigned)>(function("cuInit"));
  const auto get = reinterpret_cast<int (*)(int*, int)>(function("cuDeviceGet"));
  const auto get_bus = reinterpret_cast<int (*)(char*, int, int)>(function("cuDeviceGetPCIBusId"));
  int device = 0;
  char bus[64] = {};
  const bool known = init && get && get_bus && init(0) == 0 && get(&device, gpu) == 0 &&
                     get_bus(bus, sizeof bus, device) == 0;
  dlclose(driver);
  return known ? bus : "";
}

DeviceUse::DeviceUse(const c10::Device& device)
    : device_(device), failures_before_(std::uncaught_exceptions()), bus_(known_bus(device)) {
  if (bus_.empty()) return;
  take();
  windows_ = WaitingWindows(bus_);
}

void DeviceUse::take() {
  const Stopwatch clock;
  lock_ = DeviceLock::among_ranks(bus_, kDevicePatience_s);
  if (!lock_)
    throw Error(concat("a verifier of this host has been timing on the GPU at ", bus_, " for ",
                       kDevicePatience_s, " s, and no rank can work there: is it stopped?"));
  waited_s_ += clock.seconds();
}

// Where the use has failed the device may never be done, or report the same failure once more.
DeviceUse::~DeviceUse() {
  if (!lock_ || std::uncaught_exceptions() > failures_before_) return;
  try {
    wait_for(device_);
  } catch (const std::exception& error) {
    log_warning("after its use the device says: ", words_of(error));
  }
}

bool DeviceUse::is_wanted() {
  if (since_refused_ && since_refused_->seconds() < kDeaf_s) return false;
  return windows_.any();
}

void DeviceUse::lend() {
  if (!lock_) return;
  wait_for(device_);
  lock_ = {};
  const Stopwatch clock;
  while (windows_.any() && clock.seconds() < kMoment_s)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  waited_s_ += clock.seconds();
  since_refused_.reset();
  if (windows_.any()) since_refused_.emplace();
  take();
}

}  // namespace bicrl
