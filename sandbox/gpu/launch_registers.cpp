#include "sandbox/gpu/launch_registers.h"

#include <algorithm>

#include "common/error.h"
#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

constexpr uint64_t kMostRegisters = 255;
constexpr uint64_t kWarpThreads = 32;

uint64_t threads_of(const TraceOp& launch) {
  return uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
}

// Registers are given to whole warps, in units, and each scheduler has its own part of them.
bool has_room(uint64_t threads, uint64_t registers, const DeviceTable& device) {
  const uint64_t unit = device.register_unit;
  const uint64_t of_warp = (registers * kWarpThreads + unit - 1) / unit * unit;
  const uint64_t warps = device.registers / device.schedulers / of_warp * device.schedulers;
  return (threads + kWarpThreads - 1) / kWarpThreads <= warps;
}

}  // namespace

bool registers_may_run_out(const Trace& trace, const DeviceTable& device) {
  return std::any_of(trace.ops.begin(), trace.ops.end(), [&](const TraceOp& op) {
    return op.kind == TraceOp::Kind::kLaunch && !has_room(threads_of(op), kMostRegisters, device);
  });
}

std::string register_problem(const Trace& trace, const std::map<std::string, KernelResources>& resources,
                             const DeviceTable& device) {
  for (const TraceOp& op : trace.ops) {
    if (op.kind != TraceOp::Kind::kLaunch) continue;
    const auto known = resources.find(op.entry);
    if (known == resources.end() || known->second.registers == 0 ||
        has_room(threads_of(op), known->second.registers, device))
      continue;
    return concat(readable_name(op.entry), ": ", known->second.registers, " registers in each of ",
                  threads_of(op), " threads of a block; a multiprocessor has ", device.registers,
                  " (__launch_bounds__ makes the compiler use fewer)");
  }
  return "";
}

}  // namespace bicrl
