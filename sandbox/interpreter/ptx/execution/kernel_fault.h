// A fault in a kernel's run, and the exception that carries it. Plain values.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "verdict/fault/fault_class.h"

namespace bicrl::ptx {

using bicrl::FaultClass;

struct KernelFault {
  FaultClass fault_class = FaultClass::kUnsupported;  // one that a run can end in
  std::string message;                                // for a person; holds no value that the program read
  std::string kernel;                                 // entry name
  uint32_t source_line = 0;                           // of the device text; 0: not known
  uint32_t text_line = 0;                             // of the PTX
  // "block 0, 0, 0, thread 1, 0, 0"; empty if no lane is at fault. Not for the program's author: which thread
  // it was can be made to say what an input holds.
  std::string place = {};
};

// A fault on its way to whoever runs the launch.
class FaultError : public std::runtime_error {
 public:
  explicit FaultError(KernelFault fault) : std::runtime_error(fault.message), fault_(std::move(fault)) {}
  const KernelFault& fault() const { return fault_; }

 private:
  KernelFault fault_;
};

}  // namespace bicrl::ptx
