// The PTX interpreter as the device of a run of a trace: its memory with shadows, its grids, and what
// observes them. Not thread-safe.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/interpreter/counting/launch_counting.h"
#include "sandbox/interpreter/executor/block_sample.h"
#include "sandbox/interpreter/executor/input_reads.h"
#include "sandbox/interpreter/executor/sample_counting.h"
#include "sandbox/interpreter/ptx/execution/device_memory.h"
#include "sandbox/interpreter/ptx/execution/grid.h"
#include "sandbox/interpreter/ptx/execution/observer.h"
#include "sandbox/interpreter/ptx/lowering/loaded_module.h"
#include "sandbox/recorder/trace/calls.h"
#include "sandbox/trace_run/device_program.h"
#include "sandbox/trace_run/trace_device.h"

namespace bicrl {

struct InterpreterOptions {
  uint64_t seed = 0;                  // of addresses, and of the order of blocks
  bool warps_apart = false;           // ptx::RunOrder
  bool shadows = false;               // find what was never written, and keep who wrote what
  bool count = false;                 // what launches do, and what the host part has the device do besides
  uint64_t lane_operations = 0;       // of a call: launches, fills, copies and uploads together
  uint64_t max_bytes = 0;             // of all buffers
  ptx::Observer* observer = nullptr;  // of all launches; outlives the device
  InputReads* reads = nullptr;        // an observer that is passed the inputs; likewise
  // Of each launch these blocks alone, in memory that is made when touched (sample_counting.h): nothing is
  // filled or copied.
  std::optional<BlockSample> sample = std::nullopt;
};

class InterpretedDevice : public TraceDevice {
 public:
  // `program` and `trace` outlive this.
  InterpretedDevice(DeviceProgram& program, const Trace& trace, const InterpreterOptions& options);

  void load_modules() override;
  std::optional<uint64_t> bind_variable(uint32_t buffer, const std::string& name) override;
  void add_buffer(uint32_t buffer) override;
  void place_buffers(uint32_t) override {}  // they have their places
  uint64_t allocated_bytes() const override { return memory_.bytes(); }
  uint64_t address(uint32_t buffer) const override { return memory_.buffer(buffers_[buffer]).address; }
  void write(uint32_t buffer, uint64_t offset, std::string_view bytes) override;
  void write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) override;
  void visit_variables(const Visitor& visit) override;
  void visit(uint32_t buffer, const Visitor& visit) override;
  const std::byte* contents(uint32_t buffer) override { return memory_.buffer(buffers_[buffer]).data.get(); }
  void store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) override;
  void begin_call() override { call_began_at_ = lane_operations_; }
  void begin(const TraceOp& op) override;
  void launch(const TraceOp& op) override;
  void fill(const TraceOp& op) override;
  void copy(const TraceOp& op) override;
  void release(uint32_t buffer) override { memory_.release(buffers_[buffer]); }

  // Of the call that runs, or was the last to run.
  uint64_t lane_operations() const { return lane_operations_ - call_began_at_; }
  uint64_t all_lane_operations() const { return lane_operations_; }
  // With `count`: bytes that come from the host before anything runs.
  void count_upload(uint64_t bytes) { counting_->upload(bytes); }
  // With `count`: what has run, as launches in order.
  const std::vector<LaunchCounters>& counters() const { return counting_->launches(); }
  // With `sample`: by launch.
  const std::vector<SampledLaunch>& sampled() const { return sampled_; }
  // The trace's buffer that begins there; nothing if none does.
  std::optional<uint32_t> buffer_at(uint64_t address) const;
  // The variable of a module that begins there, as its module has it; null if none does.
  const std::string* variable_at(uint64_t address) const;

 private:
  ElementPlace place(const TraceView& view);
  void count_host_operation(const TraceOp& op);
  void count_elements(int64_t elements);
  uint64_t left_lane_operations() const { return options_.lane_operations - lane_operations(); }
  uint64_t grid_workspace();
  void run_grid(const TraceOp& op, const ptx::LaunchConfig& config, std::optional<uint64_t> block);
  void run_sample(const TraceOp& op, const ptx::LaunchConfig& config);

  DeviceProgram& program_;
  const Trace& trace_;
  const InterpreterOptions options_;
  ptx::DeviceMemory memory_;
  std::unique_ptr<LaunchCounting> counting_;  // null: nobody counts
  SampleCounting* sampling_ = nullptr;        // the same with `sample`, else null
  std::vector<ptx::LoadedModule> modules_;
  std::vector<ptx::DeviceMemory::BufferId> buffers_;      // by buffer of the trace
  std::optional<ptx::DeviceMemory::BufferId> workspace_;  // of cooperative launches
  std::vector<SampledLaunch> sampled_;
  uint64_t launches_ = 0, lane_operations_ = 0;  // of all calls
  uint64_t call_began_at_ = 0;                   // of lane_operations_
};

}  // namespace bicrl
