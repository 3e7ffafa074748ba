// A GPU as the device of a run of a trace, by NVIDIA's driver. Memory, modules and addresses are fresh, and
// wiped when the run is over. The host part's operations are done in the order of issue, each when the one
// before it is done. Not thread-safe; throws DriverError where neither the program nor its kernels are at
// fault: then the device, or this process, is of no use any more.
//
// What a device does not say: what was never written (it holds a NaN), who wrote an element, races, and reads
// beyond a buffer (they find NaNs). The PTX interpreter's run of the same trace says it.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/gpu/loader/device_buffers.h"
#include "sandbox/gpu/loader/driver.h"
#include "sandbox/gpu/loader/driver_fault.h"
#include "sandbox/recorder/trace/trace.h"
#include "sandbox/trace_run/device_program.h"
#include "sandbox/trace_run/trace_device.h"

namespace bicrl::gpu {

struct DriverDeviceOptions {
  uint64_t seed = 0;       // of addresses
  double limit_s = 10;     // that all launches together may keep the host waiting
  uint64_t max_bytes = 0;  // of all buffers
  bool renewable = false;  // renew() may be asked for
  bool shared = false;     // buffers can be given to another process
  bool apart = false;      // each buffer has an allocation of its own (separate_memory.h)
};

class DriverDevice : public TraceDevice {
 public:
  // `machine_code` is that of the program's modules. All must outlive this.
  DriverDevice(Driver& driver, const DeviceProgram& program, const std::vector<std::string>& machine_code,
               const Trace& trace, const DriverDeviceOptions& options);
  ~DriverDevice() override;
  DriverDevice(const DriverDevice&) = delete;
  DriverDevice& operator=(const DriverDevice&) = delete;

  void load_modules() override;
  std::optional<uint64_t> bind_variable(uint32_t buffer, const std::string& name) override;
  void add_buffer(uint32_t buffer) override;
  void place_buffers(uint32_t call) override;
  uint64_t allocated_bytes() const override { return allocated_bytes_; }
  uint64_t address(uint32_t buffer) const override { return places_[buffer].address; }
  void write(uint32_t buffer, uint64_t offset, std::string_view bytes) override;
  void write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) override;
  void visit_variables(const Visitor& visit) override;
  void visit(uint32_t buffer, const Visitor& visit) override;
  const std::byte* contents(uint32_t buffer) override;
  void store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) override;
  void begin(const TraceOp&) override { seen_.clear(); }
  void launch(const TraceOp& op) override;
  void fill(const TraceOp& op) override;
  void copy(const TraceOp& op) override;
  void release(uint32_t buffer) override;
  std::optional<Breach> find_breach() override;  // the device must be idle

  // Whether a kernel is at fault, so that the context cannot be used again.
  bool context_lost() const { return context_lost_; }
  void lose_context() { context_lost_ = true; }
  // Memory and variables as they were before anything was written, at the same addresses.
  void renew();
  // Why operations cannot be put into a stream: the host has a part in one. Empty if they can.
  static std::string enqueue_problem(std::span<const TraceOp> ops);
  // Puts operations into a stream, in the order of issue.
  void enqueue(std::span<const TraceOp> ops, StreamHandle stream);
  // Which of shared_memories() holds a buffer's byte, and where. Nothing if none does.
  struct SharedPlace {
    size_t memory = 0;
    uint64_t offset = 0;
  };
  std::optional<SharedPlace> shared_place(uint32_t buffer, uint64_t offset_bytes) const;
  std::vector<const SharedAllocation*> shared_memories() const;

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

  [[noreturn]] static void end(FaultClass fault_class, const std::string& message,
                               const std::string& kernel = "");
  DeviceAddress address_of(const TraceView& view) const {
    return places_[view.buffer].address + view.offset_bytes;
  }
  void prepare(KernelHandle kernel, const TraceOp& op) const;
  ReadyLaunch make_ready(const TraceOp& op);
  void blame(const DriverError& error, FaultPlace place, const TraceOp& op);
  std::string download(const TraceView& view);

  Driver& driver_;
  const DeviceProgram& program_;
  const std::vector<std::string>& machine_code_;
  const Trace& trace_;
  const DriverDeviceOptions options_;
  std::chrono::nanoseconds waited_{0};  // for launches
  std::vector<Module> modules_;
  std::vector<std::unique_ptr<DeviceBuffers>> memories_;  // one for each call that has touched new buffers
  std::vector<std::vector<uint32_t>> owners_;             // [memory][number]: the buffer of the trace
  std::vector<uint32_t> added_;                           // buffers that have no place yet
  std::vector<Place> places_;                             // by buffer of the trace
  uint64_t allocated_bytes_ = 0;
  std::map<uint32_t, std::string> seen_;  // buffers as they are since the last operation
  bool context_lost_ = false;
};

}  // namespace bicrl::gpu
