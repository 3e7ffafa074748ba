// One run of a trace on a device (trace_run/trace_run.h), with what timing and sharing ask for besides. The
// constructor's operations are done before inputs are there. Not thread-safe; throws DriverError as
// driver_device.h says.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sandbox/gpu/loader/driver_device.h"
#include "sandbox/recorder/trace/calls.h"
#include "sandbox/trace_run/trace_run.h"

namespace bicrl::gpu {

struct DeviceRunOptions {
  uint64_t seed = 0;
  bool skip_launches = false;       // what is left if no kernel runs
  bool follow_copies = false;       // in the first call: what would be left if kernels only copied
  double limit_s = 10;              // that all launches together may keep the host waiting
  uint64_t max_bytes = 2ull << 30;  // of all buffers
  bool renewable = false;           // renew() may be asked for
  bool shared = false;              // buffers can be given to another process
  bool apart = false;               // each buffer has an allocation of its own (separate_memory.h)
};

class DeviceRun {
 public:
  // `machine_code` is that of the program's modules. All must outlive this.
  DeviceRun(Driver& driver, const DeviceProgram& program, const std::vector<std::string>& machine_code,
            const Trace& trace, const CallSummary& calls, const DeviceRunOptions& options);

  TraceRun& trace_run() { return run_; }
  DriverDevice& device() { return device_; }

  // ---- After the first call, at the same addresses ----
  // Everything as it was before the first call: memory, variables, with these inputs; and then what the
  // constructor does.
  std::optional<ptx::KernelFault> renew(const CallInputs& inputs);
  // And then the first call once more; without its kernels if they are left out.
  std::optional<ptx::KernelFault> rerun(const CallInputs& inputs, bool skip_launches);
  // As DriverDevice has them, of the first call's operations.
  std::string enqueue_problem() const { return DriverDevice::enqueue_problem(first_ops_); }
  void enqueue(StreamHandle stream) { device_.enqueue(first_ops_, stream); }
  size_t operations() const { return first_ops_.size(); }

  double limit_s() const { return options_.limit_s; }
  double seconds() const;

 private:
  Driver& driver_;
  const DeviceRunOptions options_;
  const std::chrono::steady_clock::time_point start_;
  const std::span<const TraceOp> first_ops_;
  const bool constructs_by_kernels_;
  DriverDevice device_;
  TraceRun run_;
};

}  // namespace bicrl::gpu
