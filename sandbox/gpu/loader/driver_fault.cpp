#include "sandbox/gpu/loader/driver_fault.h"

#include <algorithm>
#include <iterator>

namespace bicrl::gpu {
namespace {

struct Meaning {
  int code;
  FaultPlace place;
  FaultClass fault_class;
  const char* message;
};

// Whatever is not in here is nobody's fault but ours: a lost device, memory that others hold, ECC, an error
// that the driver has no name for.
constexpr Meaning kMeanings[] = {
    {1, FaultPlace::kLaunch, FaultClass::kLaunch, "the device refuses the launch's configuration"},
    {2, FaultPlace::kLaunch, FaultClass::kMemory, "the kernel needs more local memory than the device has"},
    {701, FaultPlace::kLaunch, FaultClass::kLaunch,
     "the device has not the registers or shared memory for a block"},
    {720, FaultPlace::kLaunch, FaultClass::kLaunch,
     "a cooperative launch of more blocks than can be resident"},
    {700, FaultPlace::kKernel, FaultClass::kIllegalAccess, "an access outside of every buffer"},
    {702, FaultPlace::kKernel, FaultClass::kTimeout, "the device's own limit of time ended the kernel"},
    {710, FaultPlace::kKernel, FaultClass::kTrap, "an assertion failed"},
    {714, FaultPlace::kKernel, FaultClass::kMemory, "the stack of a thread ran over"},
    {715, FaultPlace::kKernel, FaultClass::kTrap, "an illegal instruction"},
    {716, FaultPlace::kKernel, FaultClass::kIllegalAccess, "a misaligned access"},
    {717, FaultPlace::kKernel, FaultClass::kIllegalAccess,
     "an access to another address space than the address's"},
    {718, FaultPlace::kKernel, FaultClass::kIllegalAccess, "a jump or a call to where no code is"},
    // What accesses end in has numbers of its own; this is how `trap` is reported (seen on an H200).
    {719, FaultPlace::kKernel, FaultClass::kTrap, "a trap, or another exception that ends a kernel"}};

const Meaning* find(int code) {
  const auto found = std::ranges::find(kMeanings, code, &Meaning::code);
  return found == std::end(kMeanings) ? nullptr : found;
}

}  // namespace

std::optional<FaultClass> fault_class_of(int code, FaultPlace place) {
  const Meaning* meaning = find(code);
  if (!meaning || meaning->place != place) return std::nullopt;
  return meaning->fault_class;
}

std::string fault_message_of(int code) {
  const Meaning* meaning = find(code);
  return meaning ? meaning->message : "";
}

}  // namespace bicrl::gpu
