#include "sandbox/interpreter/executor/execution.h"

#include "sandbox/frontend/device/entry_names.h"

namespace bicrl {
namespace {

// Bytes of constants that the first call alone touches, though others do the same: they were made within it,
// and come from the host each time. Those of the constructor, parameters among them, are there before.
uint64_t constants_of_the_call(const Trace& trace, const CallSummary& calls) {
  if (trace.repeats.empty()) return 0;
  std::vector<bool> used(trace.buffers.size(), false);
  for (size_t i = trace.construction_ops; i < trace.ops.size(); ++i) {
    const TraceOp& op = trace.ops[i];
    for (const TraceRelocation& r : op.relocations) used[r.buffer] = true;
    if (op.kind == TraceOp::Kind::kCopy) used[op.source.buffer] = true;
  }
  for (const uint32_t kept : calls.kept) used[kept] = false;
  uint64_t bytes = 0;
  for (size_t i = 0; i < trace.buffers.size(); ++i)
    if (used[i] && trace.buffers[i].kind == TraceBuffer::Kind::kConstant) bytes += trace.buffers[i].bytes;
  return bytes;
}

}  // namespace

Execution::Execution(DeviceProgram& program, const Trace& trace, const CallSummary& calls,
                     const ExecutionOptions& options)
    : device_(program, trace,
              {.seed = options.seed,
               .warps_apart = options.warps_apart,
               .shadows = options.shadows,
               .count = options.count,
               .lane_operations = options.lane_operations,
               .max_bytes = options.max_bytes,
               .observer = options.observer,
               .reads = options.reads,
               .sample = options.sample}),
      run_(device_, program, trace, calls,
           {.seed = options.seed,
            .max_bytes = options.max_bytes,
            .skip_launches = options.skip_launches,
            .follow_copies = options.follow_copies,
            .has_shadows = options.shadows,
            .order = options.order}),
      is_sample_(options.sample.has_value()) {
  if (!options.count || is_sample_) return;
  if (const uint64_t bytes = constants_of_the_call(trace, calls)) device_.count_upload(bytes);
}

ExecutionReport Execution::run(std::string_view inputs) {
  ExecutionReport report;
  report.fault = run_.run(inputs);
  report.lane_operations = device_.lane_operations();
  if (!report.fault && !is_sample_) report.changed_inputs = run_.changed_inputs();
  return report;
}

std::string Execution::buffer_name(uint64_t address) const {
  if (const auto buffer = device_.buffer_at(address)) return run_.buffer_name(*buffer);
  const std::string* variable = device_.variable_at(address);
  return variable ? "variable " + readable_name(*variable) : "global memory";
}

}  // namespace bicrl
