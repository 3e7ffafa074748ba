#include "sandbox/gpu/loader/device_run.h"

#include <algorithm>

namespace bicrl::gpu {

// Inputs come last: a kernel of the constructor that looks beyond its buffers finds poison where they will
// lie, and cannot work on them before anybody times what it does.
DeviceRun::DeviceRun(Driver& driver, const DeviceProgram& program,
                     const std::vector<std::string>& machine_code, const Trace& trace,
                     const CallSummary& calls, const DeviceRunOptions& options)
    : driver_(driver),
      options_(options),
      start_(std::chrono::steady_clock::now()),
      first_ops_(std::span(trace.ops).subspan(trace.construction_ops)),
      constructs_by_kernels_(
          std::ranges::any_of(std::span(trace.ops).first(trace.construction_ops),
                              [](const TraceOp& op) { return op.kind == TraceOp::Kind::kLaunch; })),
      device_(driver, program, machine_code, trace,
              {.seed = options.seed,
               .limit_s = options.limit_s,
               .max_bytes = options.max_bytes,
               .renewable = options.renewable,
               .shared = options.shared,
               .apart = options.apart}),
      run_(device_, program, trace, calls,
           {.seed = options.seed,
            .max_bytes = options.max_bytes,
            .skip_launches = options.skip_launches,
            .follow_copies = options.follow_copies,
            .construct_first = true}) {}

double DeviceRun::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

std::optional<ptx::KernelFault> DeviceRun::renew(const CallInputs& inputs) {
  device_.renew();
  if (auto fault = run_.construct_again(inputs)) return fault;
  // Fills return before the device has done them, and a window's other side must not be timed beside them.
  driver_.finish(std::chrono::seconds(30), "fills");
  // What the host does here it has done in run(), which looked behind it.
  return constructs_by_kernels_ ? run_.find_breach() : std::nullopt;
}

std::optional<ptx::KernelFault> DeviceRun::rerun(const CallInputs& inputs, bool skip_launches) {
  run_.skip_launches(skip_launches);
  auto fault = renew(inputs);
  if (!fault) fault = run_.call_again();
  run_.skip_launches(options_.skip_launches);
  return fault;
}

}  // namespace bicrl::gpu
