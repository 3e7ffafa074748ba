// The fault classes of programs: what Verdict::fault_class may hold, as names in code and as data for checks,
// tables and help texts. Immutable; safe from any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace bicrl {

// In the order in which a program would meet them. fault_class.cpp says what each means.
enum class FaultClass : uint8_t {
  kExtract,
  kCompile,
  kUnsupported,
  kLibraryCall,
  kRecord,
  kHostRead,
  kFrameworkFallback,
  kDeadKernel,
  kLaunch,
  kIllegalAccess,
  kUninitialised,
  kRace,
  kBarrier,
  kTrap,
  kTimeout,
  kMemory,
  kProcess,
  kOutputLimit,
  kProtocol,
  kWrongShape,
  kWrongValue,
  kNonFinite,
  kSpecialised,
  kNondeterministic,
  kUnconfirmed
};

struct FaultClassEntry {
  FaultClass value;
  std::string_view name;     // "illegal_access"
  std::string_view meaning;  // one line for a person
};

// One for each class, in their order.
std::span<const FaultClassEntry> fault_classes();

std::string to_string(FaultClass fault_class);  // "illegal_access"
// The class of that name, if there is one.
std::optional<FaultClass> find_fault_class(std::string_view name);

}  // namespace bicrl
