// One run of a trace in a memory of its own: nothing outlives it. A run is one call of forward on one draw of
// inputs, and further ones on others where the first has left something that may make them answer otherwise.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/interpreter/counting/launch_counting.h"
#include "sandbox/interpreter/executor/copied_contents.h"
#include "sandbox/interpreter/executor/device_program.h"
#include "sandbox/interpreter/executor/input_reads.h"
#include "sandbox/interpreter/executor/stream_order.h"
#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/recorder/trace/calls.h"
#include "sandbox/recorder/trace/trace.h"

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
  InputReads* reads = nullptr;                   // an observer that is told where inputs are; likewise
};

struct ExecutionReport {
  std::optional<ptx::KernelFault> fault;
  uint64_t lane_operations = 0;
  int launches = 0;
  std::vector<uint32_t> changed_inputs;  // leaves that no longer hold what they held
};

class Execution {
 public:
  // `calls`: what summarise_calls() says of the trace. `inputs`: one draw, as InputLayout says. All must
  // outlive this.
  Execution(DeviceProgram& program, const Trace& trace, const CallSummary& calls, std::string_view inputs,
            const ExecutionOptions& options);

  // The constructor and the first call.
  ExecutionReport run();
  // After it: the first repeat that may answer otherwise than the first call would, because the host part
  // does something else or because variables, parameters or buffers that it meets have changed. The number of
  // repeats if there is none.
  size_t first_repeat();
  // Whether the memory has room for what that repeat allocates.
  bool has_room(size_t index) const;
  // Number `index` of the trace's repeats, after those before it from first_repeat() on.
  ExecutionReport repeat(size_t index, std::string_view inputs);
  // With an `order`, after a call whose outputs have been read: what need not be done before.
  ExecutionReport finish();
  // With `count`, after the first call: what it did, the constructor's share included, as launches in order.
  const std::vector<LaunchCounters>& counters() const { return counting_->launches(); }
  // After a call without a fault: its outputs as the trace's output layout says. `writers`: one byte for each
  // element, leaf after leaf (ptx::Writer: the weakest of its bytes'), if the run kept shadows. Returns a
  // fault if an element was never written.
  std::optional<ptx::KernelFault> store_outputs(std::byte* outputs, uint8_t* writers);
  // With `follow_copies`, after the first call without a fault: output `index` as it would be if kernels did
  // nothing but copy. False if it needs what they computed (copied_contents.h).
  bool store_copied_output(size_t index, std::byte* to);
  // Behind a repeat: which outputs of the first call no longer hold what store_outputs() said then, as a
  // repeat has overwritten them. Without those that are inputs.
  std::set<uint32_t> overwritten_outputs(const std::vector<std::byte>& first);
  // What the program's author would call the buffer that begins there, in the call that ran last: "output 0".
  std::string buffer_name(uint64_t address) const;

 private:
  using KeptState = std::vector<std::pair<uint64_t, uint64_t>>;  // hashes of what a call may leave to another
  KeptState kept_state() const;
  void follow_copies();
  void allocate(uint32_t call);
  void allocate_up_to(uint32_t call);
  void write_inputs(uint32_t call, uint32_t tensors);
  uint32_t symbol_buffer(const TraceBuffer& symbol);
  void load_modules();
  void execute_call(std::span<const TraceOp> ops, const TraceOrder& end_after, ExecutionReport& report);
  void execute(const TraceOp& op, ExecutionReport& report);
  void count_elements(int64_t elements, ExecutionReport& report) const;
  void count_constants();
  void count_host_operation(const TraceOp& op);
  void launch(const TraceOp& op, ExecutionReport& report);
  uint64_t grid_workspace();
  void upload(const TraceOp& op);
  void relocate(std::string& bytes, const std::vector<TraceRelocation>& relocations) const;
  void find_changed_inputs(ExecutionReport& report);

  DeviceProgram& program_;
  const Trace& trace_;
  const CallSummary& calls_;
  const ExecutionOptions options_;
  std::string_view inputs_;                // of the call that runs, or was the last to run
  const std::vector<TraceView>* outputs_;  // of that call
  const OutputLayout* layout_;
  std::vector<const TraceOp*> late_;  // of that call: what finish() is to do
  ptx::DeviceMemory memory_;
  std::unique_ptr<LaunchCounting> counting_;  // null: nobody counts
  std::unique_ptr<CopiedContents> copied_;    // null: nobody follows
  std::vector<ptx::LoadedModule> modules_;
  std::vector<ptx::DeviceMemory::BufferId> buffers_;      // by buffer of the trace
  std::optional<ptx::DeviceMemory::BufferId> workspace_;  // of cooperative launches
  KeptState constructed_;                                 // what the first call met
  uint64_t launches_ = 0;                                 // of all calls
  uint32_t allocated_calls_ = 0;
};

}  // namespace bicrl
