#include "verdict/fault_class.h"

#include <algorithm>

namespace bicrl {
namespace {

// wrong_shape, wrong_value, non_finite and nondeterministic ran and were compared: their outcome is kGraded.
constexpr FaultClass kClasses[] = {
    {"extract", "no program in the answer, or one without ModelNew or load_inline"},
    {"compile", "the CUDA source does not compile (tensor mathematics in C++ included)"},
    {"unsupported", "uses something that this backend cannot express"},
    {"library_call", "calls a vendor library that the policy file does not allow"},
    {"record", "the Python part raised an error"},
    {"host_read", "the host part reads device data"},
    {"framework_fallback", "the answer comes from a framework operator"},
    {"dead_kernel", "no kernel of the candidate produced the answer"},
    {"launch", "invalid launch configuration"},
    {"illegal_access", "out-of-bounds access or a crash in a kernel"},
    {"uninitialised", "memory that was never written reached an address, a branch or an output"},
    {"race",
     "two threads access a word that nothing orders, one writes, and the answer depends on who is first"},
    {"barrier", "a barrier or warp operation that can never complete"},
    {"trap", "trap or a failed assertion"},
    {"timeout", "more work than the limit"},
    {"memory", "memory limit"},
    {"process", "process limit"},
    {"output_limit", "wrote more than its limit"},
    {"protocol", "broke the protocol between its box and the verifier"},
    {"wrong_shape", "an output has another shape than the reference"},
    {"wrong_value", "an output differs from the reference by more than the tolerance"},
    {"non_finite", "an output holds NaN or infinity where the reference does not"},
    {"specialised", "refuses smaller inputs of the task, at which it would be compared"},
    {"nondeterministic", "differs between runs on equal inputs"},
    {"unconfirmed", "a success that a second verification with new secrets did not repeat"},
};

}  // namespace

std::span<const FaultClass> fault_classes() { return kClasses; }

bool is_fault_class(std::string_view name) {
  return std::ranges::any_of(kClasses, [&](const FaultClass& entry) { return entry.name == name; });
}

}  // namespace bicrl
