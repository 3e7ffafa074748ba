#include "verdict/fault/fault_class.h"

#include <algorithm>

namespace bicrl {
namespace {

// wrong_shape, wrong_value, non_finite and nondeterministic ran and were compared: their outcome is kGraded.
constexpr FaultClassEntry kClasses[] = {
    {FaultClass::kExtract, "extract", "no program in the answer, or one without ModelNew or load_inline"},
    {FaultClass::kCompile, "compile",
     "the CUDA source does not compile (tensor mathematics in C++ included)"},
    {FaultClass::kUnsupported, "unsupported", "uses something that this backend cannot express"},
    {FaultClass::kLibraryCall, "library_call", "calls a vendor library that the policy file does not allow"},
    {FaultClass::kRecord, "record", "the Python part raised an error"},
    {FaultClass::kHostRead, "host_read", "the host part reads device data"},
    {FaultClass::kFrameworkFallback, "framework_fallback", "the answer comes from a framework operator"},
    {FaultClass::kDeadKernel, "dead_kernel", "no kernel of the candidate produced the answer"},
    {FaultClass::kLaunch, "launch", "invalid launch configuration"},
    {FaultClass::kIllegalAccess, "illegal_access", "out-of-bounds access or a crash in a kernel"},
    {FaultClass::kUninitialised, "uninitialised",
     "memory that was never written reached an address, a branch or an output"},
    {FaultClass::kRace, "race",
     "two threads access a word that nothing orders, one writes, and the answer depends on who is first"},
    {FaultClass::kBarrier, "barrier", "a barrier or warp operation that can never complete"},
    {FaultClass::kTrap, "trap", "trap or a failed assertion"},
    {FaultClass::kTimeout, "timeout", "more work than the limit"},
    {FaultClass::kMemory, "memory", "memory limit"},
    {FaultClass::kProcess, "process", "process limit"},
    {FaultClass::kOutputLimit, "output_limit", "wrote more than its limit"},
    {FaultClass::kProtocol, "protocol", "broke the protocol between its box and the verifier"},
    {FaultClass::kWrongShape, "wrong_shape", "an output has another shape than the reference"},
    {FaultClass::kWrongValue, "wrong_value",
     "an output differs from the reference by more than the tolerance"},
    {FaultClass::kNonFinite, "non_finite", "an output holds NaN or infinity where the reference does not"},
    {FaultClass::kSpecialised, "specialised",
     "refuses smaller inputs of the task, at which it would be compared"},
    {FaultClass::kNondeterministic, "nondeterministic", "differs between runs on equal inputs"},
    {FaultClass::kUnconfirmed, "unconfirmed",
     "a success that a second verification with new secrets did not repeat"},
};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kClasses); ++i)
    if (kClasses[i].value != static_cast<FaultClass>(i)) return false;
  return std::size(kClasses) == static_cast<size_t>(FaultClass::kUnconfirmed) + 1;
}
static_assert(in_order(), "a class without its entry");

}  // namespace

std::span<const FaultClassEntry> fault_classes() { return kClasses; }

std::string to_string(FaultClass fault_class) {
  return std::string(kClasses[static_cast<size_t>(fault_class)].name);
}

std::optional<FaultClass> find_fault_class(std::string_view name) {
  const auto entry = std::ranges::find(kClasses, name, &FaultClassEntry::name);
  return entry == std::end(kClasses) ? std::nullopt : std::optional(entry->value);
}

}  // namespace bicrl
