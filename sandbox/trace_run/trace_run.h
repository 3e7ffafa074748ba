// A run of a recorded trace in memory of its own: nothing outlives it. A run is one call of forward on one
// test input, and further calls on others where the first has left something that may make them answer
// otherwise. The run decides what is done in which order, and a TraceDevice does it. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/interpreter/ptx/execution/kernel_fault.h"
#include "sandbox/recorder/trace/calls.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/trace_run/copied_contents.h"
#include "sandbox/trace_run/device_program.h"
#include "sandbox/trace_run/trace_device.h"

namespace bicrl {

struct TraceRunOptions {
  uint64_t seed = 0;             // secret: of hashes of what a call leaves
  uint64_t max_bytes = 0;        // of all buffers; the device has the same limit
  bool skip_launches = false;    // what is left if no kernel runs
  bool follow_copies = false;    // in the first call: what would be left if kernels only copied
  bool has_shadows = false;      // the device knows what was never written, and who wrote what
  bool construct_first = false;  // inputs are written behind the constructor's operations, not before them
  size_t order = 0;              // 0: of issue; k: number k - 1 of other_orders(), in calls that have it
};

class TraceRun {
 public:
  using EndFault = std::optional<ptx::KernelFault>;  // that a call has ended in

  // `calls`: what summarise_calls() says of the trace. All must outlive this.
  TraceRun(TraceDevice& device, const DeviceProgram& program, const Trace& trace, const CallSummary& calls,
           const TraceRunOptions& options);

  // The constructor and the first call.
  EndFault run(const CallInputs& inputs);
  // After it: the first repeat that may answer otherwise than the first call would, because the host part
  // does something else or because variables, parameters or buffers that it meets have changed. The number of
  // repeats if there is none.
  size_t first_repeat();
  // Whether the memory has room for what that repeat allocates.
  bool has_room(size_t index) const;
  // Number `index` of the trace's repeats, after those before it from first_repeat() on.
  EndFault repeat(size_t index, const CallInputs& inputs);
  // With an `order`, after a call whose outputs have been read: what need not be done before.
  EndFault finish();

  // ---- Once more, when memory and variables are as they were before run() ----
  // What the constructor does. A breach is not looked for.
  EndFault construct_again(const CallInputs& inputs);
  // And the first call behind it.
  EndFault call_again();
  void skip_launches(bool skip) { skip_launches_ = skip; }

  // ---- What the call that ran last has left ----
  // Leaves that no longer hold what they held; after the first call, with inputs of the host.
  std::vector<uint32_t> changed_inputs();
  // Its outputs as the trace's output layout says, if it had no fault. `writers`, with shadows: one byte for
  // each element, leaf after leaf (ptx::Writer: the weakest of its bytes'). Returns a fault if an element was
  // never written.
  EndFault store_outputs(std::byte* outputs, uint8_t* writers);
  // With `follow_copies`, after the first call without a fault: output `index` as it would be if kernels did
  // nothing but copy. False if it needs what they computed (copied_contents.h).
  bool store_copied_output(size_t index, std::byte* to);
  // Behind a repeat: which outputs of the first call no longer hold what store_outputs() said then, as a
  // repeat has overwritten them. Without those that are inputs.
  std::set<uint32_t> overwritten_outputs(const std::vector<std::byte>& first);
  EndFault find_breach();
  // What the program's author would call the buffer: "output 0".
  std::string buffer_name(uint32_t buffer) const;

 private:
  using Hashes = std::vector<std::pair<uint64_t, uint64_t>>;

  EndFault guarded(const std::function<void()>& work);
  void allocate_up_to(uint32_t call);
  void allocate(uint32_t call);
  bool is_variable(uint32_t buffer);
  void write_constant(uint32_t buffer);
  void write_inputs(uint32_t call, uint32_t tensors);
  void follow_copies();
  void construct();
  void execute_call(std::span<const TraceOp> ops, const TraceOrder& end_after);
  void execute(const TraceOp& op);
  std::span<const TraceOp> first_ops() const {
    return std::span(trace_.ops).subspan(trace_.construction_ops);
  }
  std::optional<Hashes>
  kept_state();  // of all that a call may leave to another; nothing if that is too large

  TraceDevice& device_;
  const DeviceProgram& program_;
  const Trace& trace_;
  const CallSummary& calls_;
  const TraceRunOptions options_;
  bool skip_launches_;
  CallInputs inputs_;                      // of the call that runs, or was the last to run
  const std::vector<TraceView>* outputs_;  // of that call
  const OutputLayout* layout_;
  std::vector<const TraceOp*> late_;        // of that call: what finish() is to do
  std::unique_ptr<CopiedContents> copied_;  // null: nobody follows
  std::optional<Hashes> constructed_;       // what the first call met
  uint32_t allocated_calls_ = 0;
};

}  // namespace bicrl
