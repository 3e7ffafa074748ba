// What the verifier asks of libnvidia-ml.so.1. BICRL_FAKE_THROTTLED: of so many looks the first ones say that
// heat slows the device down.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNotFound = 6, kInsufficientSize = 7;
constexpr unsigned long long kHardwareThermal = 0x40;
int device = 0;
int looks = 0;

}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  *handle = &device;
  return strcmp(bus, "0000:18:00.0") == 0 ? 0 : kNotFound;
}
int nvmlDeviceGetClockInfo(void*, int kind, unsigned* mhz) { return *mhz = kind == 1 ? 1755 : 3201, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) { return *celsius = 41, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  const char* throttled = getenv("BICRL_FAKE_THROTTLED");
  *reasons = throttled && looks++ < atoi(throttled) ? kHardwareThermal : 0;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  return *count = 3, kInsufficientSize;
}
struct Utilization {
  unsigned gpu, memory;
};
int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) { return *rates = {0, 0}, 0; }
void fake_nvml_forget() { looks = 0; }
}
