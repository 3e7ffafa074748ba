#include "trainer/ranks/device_use.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <exception>

#include "common/log.h"

namespace bicrl {
namespace {

// Windows take seconds; a verifier that is stopped within one is no reason to stop training.
constexpr double kPatience_s = 60;

}  // namespace

std::string bus_of(int gpu) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // open already, where PyTorch uses it
  if (!driver) return "";
  const auto function = [&](const char* name) { return dlsym(driver, name); };
  const auto init = reinterpret_cast<int (*)(unsigned)>(function("cuInit"));
  const auto get = reinterpret_cast<int (*)(int*, int)>(function("cuDeviceGet"));
  const auto tell = reinterpret_cast<int (*)(char*, int, int)>(function("cuDeviceGetPCIBusId"));
  int device = 0;
  char bus[64] = {};
  const bool told =
      init && get && tell && init(0) == 0 && get(&device, gpu) == 0 && tell(bus, sizeof bus, device) == 0;
  dlclose(driver);
  return told ? bus : "";
}

DeviceUse::DeviceUse(const c10::Device& device)
    : device_(device), failures_before_(std::uncaught_exceptions()) {
  if (!device.is_cuda()) return;
  static const std::string bus = bus_of(device.index());  // a rank has one GPU
  if (bus.empty()) return;
  turn_ = DeviceTurn::among_ranks(bus, kPatience_s);
  if (!turn_)
    log_warning("a verifier has been timing on ", bus, " for more than ", kPatience_s,
                " s: this rank does not wait for it any longer");
}

// Where the use has failed the device may never be done, or tell the same failure once more.
DeviceUse::~DeviceUse() {
  if (!turn_ || std::uncaught_exceptions() > failures_before_) return;
  try {
    c10::impl::VirtualGuardImpl(device_.type()).synchronizeDevice(device_.index());
  } catch (const std::exception& error) {
    log_warning("after its use the device says: ", error.what());
  }
}

}  // namespace bicrl
