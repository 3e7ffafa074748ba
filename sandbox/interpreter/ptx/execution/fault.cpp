#include "sandbox/interpreter/ptx/execution/fault.h"

namespace bicrl::ptx {

std::string to_string(FaultClass fault_class) {
  switch (fault_class) {
    case FaultClass::kLaunch:
      return "launch";
    case FaultClass::kIllegalAccess:
      return "illegal_access";
    case FaultClass::kUninitialised:
      return "uninitialised";
    case FaultClass::kRace:
      return "race";
    case FaultClass::kBarrier:
      return "barrier";
    case FaultClass::kTrap:
      return "trap";
    case FaultClass::kTimeout:
      return "timeout";
    case FaultClass::kMemory:
      return "memory";
    case FaultClass::kUnsupported:
      return "unsupported";
  }
  return "";
}

}  // namespace bicrl::ptx
