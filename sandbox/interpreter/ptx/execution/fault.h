// What can be wrong with a kernel's run, exactly. Plain values.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace bicrl::ptx {

// The classes of verdict/fault_class.h that a run can end in.
enum class FaultClass : uint8_t {
  kLaunch,         // a configuration that no device of the modelled kind accepts
  kIllegalAccess,  // outside a buffer or variable, misaligned, or not permitted
  kUninitialised,  // what was never written reached an address or a branch
  kRace,           // accesses of two threads that nothing orders, and what they leave matters
  kBarrier,        // a barrier or warp operation that can never complete
  kTrap,           // trap, or an assertion of the program
  kTimeout,        // more work than the limit
  kMemory,         // more memory than the limit
  kUnsupported     // an instruction or a use of it that this machine does not have
};
std::string to_string(FaultClass fault_class);  // "illegal_access"

struct Fault {
  FaultClass fault_class = FaultClass::kUnsupported;
  std::string message;       // for a person; holds no value that the program read
  std::string kernel;        // entry name
  uint32_t source_line = 0;  // of the device text; 0: not known
  uint32_t text_line = 0;    // of the PTX
  // "block 0, 0, 0, thread 1, 0, 0"; empty if no lane is at fault. Not for the program's author: which thread
  // it was can be made to say what an input holds.
  std::string place = {};
};

// A fault on its way to whoever runs the launch.
class FaultError : public std::runtime_error {
 public:
  explicit FaultError(Fault fault) : std::runtime_error(fault.message), fault_(std::move(fault)) {}
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace bicrl::ptx
