// A fault in one word, for comparisons that print it.
#pragma once
#include <string>

#include "verdict/fault/fault.h"

namespace bicrl::testing {

// The class of a program's fault, "infrastructure", or nothing.
inline std::string fault_name(const Fault& fault) {
  if (!fault) return "";
  return fault.is_infrastructure() ? "infrastructure" : to_string(fault.fault_class);
}

}  // namespace bicrl::testing
