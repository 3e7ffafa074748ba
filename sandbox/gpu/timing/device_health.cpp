#include "sandbox/gpu/timing/device_health.h"

#include <utility>

namespace bicrl::timing {

std::string reasons_text(uint64_t reasons) {
  constexpr std::pair<uint64_t, const char*> kNames[] = {{kPowerCap, "power cap"},
                                                         {kSlowdown, "slowdown (hardware)"},
                                                         {kSoftwareThermal, "thermal (software)"},
                                                         {kHardwareThermal, "thermal (hardware)"},
                                                         {kPowerBrake, "power brake"}};
  std::string text;
  for (const auto& [bit, name] : kNames)
    if (reasons & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace bicrl::timing
