// The fault classes of candidates as data: what Verdict::fault_class may hold, for checks, tables and help
// texts. Immutable; safe from any thread.
#pragma once
#include <span>
#include <string_view>

namespace bicrl {

struct FaultClass {
  std::string_view name;
  std::string_view meaning;  // one line for a person
};

// In the order in which a candidate would meet them.
std::span<const FaultClass> fault_classes();

bool is_fault_class(std::string_view name);

}  // namespace bicrl
