// Device interface of a trace's run: the memory of one run, the modules in it, and the executor of kernels
// there. The PTX interpreter is one (interpreter/executor/interpreted_device.h), a GPU another
// (gpu/loader/driver_device.h). Buffers go by their numbers in the trace. A program's fault is thrown as
// ptx::FaultError. Not thread-safe.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/recorder/trace/trace.h"
#include "sandbox/trace_run/element_copy.h"

namespace bicrl {

// The inputs of a call as the trace's layout says: of the host, or memory of the device that stays as it is.
struct CallInputs {
  CallInputs() = default;
  CallInputs(std::string_view bytes) : of_host(bytes) {}  // NOLINT: an input is what it is
  explicit CallInputs(uint64_t address) : of_device(address) {}
  std::string_view of_host;
  uint64_t of_device = 0;  // an address; 0: they are the host's
};

// A byte that was written outside of all buffers, and the buffer that lies nearest.
struct Breach {
  size_t buffer = 0;
  uint64_t distance_bytes = 0;  // 0: inside the buffer, which was released
  bool behind = false;
};

class TraceDevice {
 public:
  virtual ~TraceDevice() = default;

  // ---- Memory ----
  virtual void load_modules() = 0;
  // The buffer is the module's variable of that name from now on: how many bytes that has. Nothing if what
  // was loaded does not hold it.
  virtual std::optional<uint64_t> bind_variable(uint32_t buffer, const std::string& name) = 0;
  // Any other buffer; it has its place when place_buffers() has returned. Throws if that exceeds the limit.
  virtual void add_buffer(uint32_t buffer) = 0;
  // Those that were added since the last time, of this call and the ones before it.
  virtual void place_buffers(uint32_t call) = 0;
  virtual uint64_t allocated_bytes() const = 0;  // against the limit
  virtual uint64_t address(uint32_t buffer) const = 0;
  // Bytes that come from the host part.
  virtual void write(uint32_t buffer, uint64_t offset, std::string_view bytes) = 0;
  // `offset`: of the buffer's bytes in the inputs.
  virtual void write_input(uint32_t buffer, const CallInputs& inputs, uint64_t offset) = 0;

  using Visitor = std::function<void(std::string_view contents)>;
  virtual void visit_variables(const Visitor& visit) = 0;  // of modules, one after the other
  virtual void visit(uint32_t buffer, const Visitor& visit) = 0;
  // What a buffer holds, until the next operation begins.
  virtual const std::byte* contents(uint32_t buffer) = 0;
  // Copies a view's elements as outputs are stored, without gaps.
  virtual void store(const TraceView& view, const OutputLayout::Leaf& leaf, const ElementPlace& to) = 0;

  // ---- Operations, each done before the next begins ----
  // A call of the program begins, or what is left of one.
  virtual void begin_call() {}
  virtual void begin(const TraceOp& op) = 0;  // before any operation, those that are left out as well
  virtual void launch(const TraceOp& op) = 0;
  virtual void fill(const TraceOp& op) = 0;
  virtual void copy(const TraceOp& op) = 0;
  virtual void release(uint32_t buffer) = 0;

  // Where a kernel wrote that it should not have, if that is found by looking at memory behind a call.
  virtual std::optional<Breach> find_breach() { return std::nullopt; }

  // Bytes of the host part with the addresses in them.
  std::string relocated(std::string bytes, const std::vector<TraceRelocation>& relocations) const;
};

}  // namespace bicrl
