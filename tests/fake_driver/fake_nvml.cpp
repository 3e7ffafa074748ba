// What sandbox/gpu/device_monitor.h needs of libnvidia-ml.so.1. Of as many answers as $BICRL_FAKE_THROTTLED
// says the first ones report that the device is too hot.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNotSupported = 3, kInsufficientSize = 7;
constexpr unsigned long long kHardwareThermal = 0x40;

unsigned long long reasons() {
  static int answers = 0;
  const char* throttled = getenv("BICRL_FAKE_THROTTLED");
  return throttled && ++answers <= atoi(throttled) ? kHardwareThermal : 0;
}

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = device;
  // As the driver of the tests names them.
  return strncmp(bus, "0000:", 5) == 0 && strlen(bus) == 12 ? 0 : kNotSupported;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) { return *mhz = kind == 1 ? 1980 : 3201, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) { return *degrees = 41, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* found) {
  return *found = reasons(), 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  return *count = 2, kInsufficientSize;
}
}
