// Clocks, throttle reasons and tenants of a device. Plain values.
#pragma once
#include <cstdint>
#include <string>

namespace bicrl::timing {

// Why a device runs slower than it might, as NVML numbers it (nvmlClocksEventReason...).
inline constexpr uint64_t kPowerCap = 0x4, kSlowdown = 0x8, kSoftwareThermal = 0x20, kHardwareThermal = 0x40,
                          kPowerBrake = 0x80;
// Of these, what makes a window's times worthless: steps of the clocks by far, as heat and supply decide. At
// the cap of power a device works for hours, and both sides of a pair alike.
inline constexpr uint64_t kThrottles = kSlowdown | kSoftwareThermal | kHardwareThermal | kPowerBrake;

struct DeviceHealth {
  bool known = false;  // else nothing below is
  std::string unknown_because = {};
  uint32_t sm_mhz = 0, memory_mhz = 0, temperature_c = 0;
  uint64_t reasons = 0;  // of the above, and others
  int tenants = 0;       // processes that compute on it, ours included
};

// "thermal (hardware), power cap"; empty if there is none of the above.
std::string reasons_text(uint64_t reasons);

}  // namespace bicrl::timing
