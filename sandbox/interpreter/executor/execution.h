// One run of a trace by the PTX interpreter (trace_run/trace_run.h), and what it alone can say of it: the
// work of each call, what launches did, and whose memory an address is. Not thread-safe.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/interpreter/executor/interpreted_device.h"
#include "sandbox/trace_run/trace_run.h"

namespace bicrl {

struct ExecutionOptions {
  uint64_t seed = 0;           // of addresses, and of the order of blocks
  bool warps_apart = false;    // ptx::RunOrder
  bool shadows = false;        // find what was never written, and keep who wrote what
  bool skip_launches = false;  // what is left if no kernel runs
  bool follow_copies = false;  // in the first call: what would be left if kernels only copied
  bool count = false;          // what launches do, and what the host part has the device do besides
  size_t order = 0;            // 0: of issue; k: number k - 1 of other_orders(), in calls that have it
  uint64_t lane_operations = uint64_t{1} << 36;  // of a call: launches, fills, copies and uploads together
  uint64_t max_bytes = uint64_t{2} << 30;        // of all buffers
  ptx::Observer* observer = nullptr;             // of all launches; outlives the execution
  InputReads* reads = nullptr;                   // an observer that is passed the inputs; likewise
  std::optional<BlockSample> sample = std::nullopt;  // InterpreterOptions; of the first call, with `count`
};

struct ExecutionReport {
  std::optional<ptx::KernelFault> fault;
  uint64_t lane_operations = 0;
  std::vector<uint32_t> changed_inputs;  // leaves that no longer hold what they held
};

class Execution {
 public:
  // `calls`: what summarise_calls() says of the trace. All must outlive this.
  Execution(DeviceProgram& program, const Trace& trace, const CallSummary& calls,
            const ExecutionOptions& options);

  // Calls, as TraceRun has them. `inputs`: one test input, as InputLayout says.
  ExecutionReport run(std::string_view inputs);
  ExecutionReport repeat(size_t index, std::string_view inputs) {
    return {run_.repeat(index, inputs), device_.lane_operations(), {}};
  }
  ExecutionReport finish() { return {run_.finish(), device_.lane_operations(), {}}; }
  TraceRun& trace_run() { return run_; }

  uint64_t lane_operations() const { return device_.lane_operations(); }  // of the call that ran last
  uint64_t all_lane_operations() const { return device_.all_lane_operations(); }
  // With `count`, after the first call: what it did, the constructor's share included, as launches in order.
  const std::vector<LaunchCounters>& counters() const { return device_.counters(); }
  // With `sample`, up to the end or the fault.
  const std::vector<SampledLaunch>& sampled() const { return device_.sampled(); }
  // What the program's author would call the buffer that begins there, in the call that ran last: "output 0".
  std::string buffer_name(uint64_t address) const;

 private:
  InterpretedDevice device_;
  TraceRun run_;
  const bool is_sample_;
};

}  // namespace bicrl
