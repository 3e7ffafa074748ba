// A candidate's device code, ready to run: the modules that NVRTC made of its texts, and the kernels that a
// trace launches, found by their names and lowered once for all runs. Immutable after its making, but for
// kernels lowered on demand; not thread-safe.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/error.h"
#include "sandbox/interpreter/ptx/execution/kernel_fault.h"
#include "sandbox/interpreter/ptx/lowering/kernel.h"
#include "sandbox/interpreter/ptx/syntax/module.h"

namespace bicrl {

class DeviceProgram {
 public:
  // `texts`: PTX, one for each load_inline call. Fails if one is none.
  static Result<DeviceProgram> parse(const std::vector<std::string>& texts);

  const std::deque<ptx::Module>& modules() const { return modules_; }
  // The kernel whose instance g++ calls `entry`. Throws ptx::FaultError(kUnsupported) if the module has no
  // such entry, or the kernel uses what the PTX interpreter does not have.
  const ptx::Kernel& kernel(uint32_t module, const std::string& entry);
  // The same kernel as the module's text has it, whether or not the interpreter can run it. Throws likewise.
  const ptx::Function& entry(uint32_t module, const std::string& entry) const;
  // The module's variable of that name, in its own spelling; nothing if device code does not use it.
  std::optional<std::string> variable(uint32_t module, const std::string& symbol) const;

 private:
  struct Names {
    std::map<std::string, std::string> entries;    // by entry_key
    std::map<std::string, std::string> variables;  // by entry_key
  };
  std::deque<ptx::Module> modules_;  // kernels point into them
  std::vector<Names> names_;
  std::map<std::pair<uint32_t, std::string>, ptx::Kernel> kernels_;
};

}  // namespace bicrl
