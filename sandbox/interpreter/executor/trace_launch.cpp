#include "sandbox/interpreter/executor/trace_launch.h"

namespace bicrl {
namespace {

ptx::Dim3 extents(const uint32_t (&three)[3]) { return {three[0], three[1], three[2]}; }

}  // namespace

ptx::LaunchConfig launch_config(const TraceOp& launch) {
  return {.grid = extents(launch.grid),
          .block = extents(launch.block),
          .dynamic_shared_bytes = launch.shared_bytes,
          .dynamic_shared_limit = launch.shared_limit,
          .parameters = launch.arguments,
          .cooperative = launch.cooperative};
}

std::optional<ptx::KernelFault> launch_fault(DeviceProgram& program, const TraceOp& launch) {
  return ptx::launch_fault(program.kernel(launch.module, launch.entry), launch_config(launch), {},
                           ptx::RunLimits{}.resident_blocks);
}

}  // namespace bicrl
