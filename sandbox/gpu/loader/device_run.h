// One run of a trace on a device: what interpreter/executor/execution.h is to the PTX machine. Memory,
// modules and addresses are fresh; one call of forward on one draw of inputs, and further ones on others
// where the first has left something that may make them answer otherwise. The host part's operations are done
// in the order of issue, each when the one before it is done. Not thread-safe.
//
// What a device does not say: what was never written (it holds a NaN), who wrote an element, races, and reads
// beyond a buffer (they find NaNs). The PTX machine's run of the same trace says it.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/gpu/loader/device_buffers.h"
#include "sandbox/gpu/loader/driver.h"
#include "sandbox/gpu/loader/driver_fault.h"
#include "sandbox/interpreter/executor/copied_contents.h"
#include "sandbox/interpreter/executor/device_program.h"
#include "sandbox/interpreter/executor/element_copy.h"
#include "sandbox/recorder/trace/calls.h"
#include "sandbox/recorder/trace/trace.h"

namespace bicrl::gpu {

// The inputs of a call as the trace's layout says: of the host, or memory of the device that stays as it is.
struct CallInputs {
  CallInputs() = default;
  CallInputs(std::string_view bytes) : of_host(bytes) {}  // NOLINT: an input is what it is
  explicit CallInputs(DeviceAddress address) : of_device(address) {}
  std::string_view of_host;
  DeviceAddress of_device = 0;
};

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
  // `machine_code` is that of the program's modules. All must outlive this. Throws DriverError where neither
  // the program nor its kernels are at fault: then the device, or this process, is of no use any more.
  DeviceRun(Driver& driver, const DeviceProgram& program, const std::vector<std::string>& machine_code,
            const Trace& trace, const CallSummary& calls, const DeviceRunOptions& options);
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  // The constructor and the first call, with what they say likewise in Execution.
  std::optional<ptx::KernelFault> run(const CallInputs& inputs);
  size_t first_repeat();
  bool has_room(size_t index) const;
  std::optional<ptx::KernelFault> repeat(size_t index, const CallInputs& inputs);
  std::vector<uint32_t> changed_inputs();  // after the first call, with inputs of the host
  void store_outputs(std::byte* outputs);  // of the call that ran last
  bool store_copied_output(size_t index, std::byte* to);
  std::set<uint32_t> overwritten_outputs(const std::vector<std::byte>& first);
  // Whether a kernel is at fault, so that the context cannot be used again.
  bool context_lost() const { return context_lost_; }
  void lose_context() { context_lost_ = true; }

  // ---- For timing (timed_run.h), after run(), at the same addresses ----
  // Everything as it was before the first call: memory, variables, with these inputs; and then what the
  // constructor does.
  std::optional<ptx::KernelFault> renew(const CallInputs& inputs);
  // And then the first call once more; without its kernels if they are left out.
  std::optional<ptx::KernelFault> rerun(const CallInputs& inputs, bool skip_launches);
  // Why the first call's operations cannot be put into a stream: the host has a part in one. Empty if they
  // can.
  std::string enqueue_problem() const;
  // Puts the first call's operations into a stream, in the order of issue. Throws DriverError.
  void enqueue(StreamHandle stream);
  size_t operations() const { return trace_.ops.size() - trace_.construction_ops; }
  std::optional<ptx::KernelFault> find_breach();
  // ---- For another process, of runs whose buffers are shared ----
  struct SharedPlace {
    size_t memory = 0;  // in shared_memories()
    uint64_t offset = 0;
  };
  // Nothing if the bytes are in no shared memory.
  std::optional<SharedPlace> shared_place(uint32_t buffer, uint64_t offset_bytes) const;
  std::vector<const SharedAllocation*> shared_memories() const;
  double limit_s() const { return options_.limit_s; }
  double seconds() const;

 private:
  struct Place {  // of a buffer of the trace
    DeviceAddress address = 0;
    DeviceBuffers* memory = nullptr;  // null: a variable of a module
    size_t number = 0;                // in it
  };
  struct Module {
    ModuleHandle handle = nullptr;
    std::map<std::string, Driver::Variable> variables;
    std::map<std::string, std::string> images;  // of variables, as they were loaded; of renewable runs
    std::map<std::string, KernelHandle> kernels;
  };
  struct ReadyLaunch {
    KernelHandle kernel = nullptr;
    Launch launch;
    std::string parameters;  // what the launch points to
  };
  struct Ended {  // on its way to whoever runs a call
    ptx::KernelFault fault;
  };
  using Hashes = std::vector<std::pair<uint64_t, uint64_t>>;

  [[noreturn]] static void end(FaultClass fault_class, const std::string& message,
                               const std::string& kernel = "");
  void construct();
  void load_modules();
  void allocate_up_to(uint32_t call);
  void allocate(uint32_t call);
  void write_inputs(uint32_t call, uint32_t tensors);
  void follow_copies();
  const std::byte* bytes_of(uint32_t buffer);
  std::optional<ptx::KernelFault> guarded(const std::function<void()>& work);
  void execute(const TraceOp& op);
  void fill(const TraceOp& op);
  void copy(const TraceOp& op);
  void launch(const TraceOp& op);
  void prepare(KernelHandle kernel, const TraceOp& op) const;
  ReadyLaunch make_ready(const TraceOp& op);
  void write_constant(uint32_t buffer);
  void blame(const DriverError& error, FaultPlace place, const TraceOp& op);
  void relocate(std::string& bytes, const std::vector<TraceRelocation>& relocations) const;
  Hashes kept_state();
  std::string download(const TraceView& view);
  // The view's elements as outputs are stored.
  void store_leaf(const TraceView& view, const OutputLayout::Leaf& leaf, std::byte* to);
  static ElementPlace place_in(std::string& bytes);
  std::string buffer_name(uint32_t buffer) const;

  Driver& driver_;
  const DeviceProgram& program_;
  const std::vector<std::string>& machine_code_;
  const Trace& trace_;
  const CallSummary& calls_;
  const DeviceRunOptions options_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::nanoseconds waited_{0};     // for launches
  CallInputs inputs_;                      // of the call that runs, or was the last to run
  const std::vector<TraceView>* outputs_;  // of that call
  const OutputLayout* layout_;
  const bool constructs_by_kernels_;
  bool skip_launches_;
  std::vector<Module> modules_;
  std::vector<std::unique_ptr<DeviceBuffers>> memories_;  // one for each call that has touched new buffers
  std::vector<std::vector<uint32_t>> owners_;             // [memory][number]: the buffer of the trace
  std::vector<Place> places_;                             // by buffer of the trace
  uint64_t allocated_bytes_ = 0;
  uint32_t allocated_calls_ = 0;
  Hashes constructed_;  // what the first call met
  std::unique_ptr<CopiedContents> copied_;
  std::map<uint32_t, std::string> seen_;  // buffers as they are since the last operation, for copied_
  bool context_lost_ = false;
};

}  // namespace bicrl::gpu
