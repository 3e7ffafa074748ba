// A kernel launch by the candidate's host part: checked as a GPU's driver checks it, then recorded or run.
#include "bicrl/launch.h"

#include <cstring>

#include "engine.h"
#include "engine_state.h"
#include "runtime.h"
#include "shared_memory.h"

namespace bicrl {
namespace {

// Longest argument block that CUDA takes.
constexpr unsigned kMaxArgumentBytes = 32764;
constexpr uint64_t kMaxLaunches = 200000;

std::string hex_of(const std::string& bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

std::string quoted(const char* text) {
  std::string out = "\"";
  for (const char* p = text; *p && out.size() < 200; ++p) {
    const bool plain = *p >= ' ' && *p < 127 && *p != '"' && *p != '\\';
    out += plain ? *p : ' ';
  }
  return out + "\"";
}

std::string triple(const dim3& d) {
  return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]";
}

uint64_t shared_limit(const void* entry) {
  for (const auto& [kernel, limit] : runtime().shared_limits)
    if (kernel == entry) return static_cast<uint64_t>(limit);
  return kDefaultSharedLimit;
}

// Rewrites the pointers among the argument bytes into relocations.
class ArgumentScan {
 public:
  ArgumentScan(const unsigned char* arguments, unsigned bytes)
      : bytes_(reinterpret_cast<const char*>(arguments), bytes) {}

  void parameter(const Parameter& p) {
    if (p.kind == 'p' || p.kind == 'c') {
      pointer(p.offset, p.kind == 'p', true);
    } else if (p.kind == 's') {
      for (unsigned at = (p.offset + 7) & ~7u; at + 8 <= p.offset + p.bytes; at += 8)
        pointer(at, true, false);
    }
  }
  const std::string& bytes() const { return bytes_; }
  std::string relocations() const { return "[" + relocations_ + "]"; }

 private:
  void pointer(unsigned at, bool writable, bool certain) {
    uintptr_t address;
    memcpy(&address, bytes_.data() + at, sizeof address);
    if (address == 0) return;
    const auto* p = reinterpret_cast<const void*>(address);
    if (Storage* s = find_storage(p)) {
      if (writable) s->kernel_wrote = true;
      add(at, buffer_index(*s), address - s->address, writable);
    } else if (in_module(p)) {
      add(at, -1, address - runtime().module_base, writable);
    } else if (certain) {
      // A host pointer: a kernel that follows it faults on a GPU, and shall fault in the replay.
      address = 0x10;
    } else {
      return;
    }
    if (find_storage(p) || in_module(p)) address = 0;
    memcpy(bytes_.data() + at, &address, sizeof address);
  }
  void add(unsigned at, int64_t buffer, uint64_t addend, bool writable) {
    if (!relocations_.empty()) relocations_ += ",";
    relocations_ += "[" + std::to_string(at) + "," + std::to_string(buffer) + "," + std::to_string(addend) +
                    "," + (writable ? "1" : "0") + "]";
  }
  std::string bytes_, relocations_;
};

void record_launch(const LaunchConfig& config, const char* name, void (*entry)(), Invoker invoker,
                   const unsigned char* arguments, unsigned bytes, const Parameter* parameters,
                   unsigned count) {
  Runtime& r = runtime();
  ArgumentScan scan(arguments, bytes);
  for (unsigned i = 0; i < count; ++i) scan.parameter(parameters[i]);
  const auto offset = [&r](auto function) { return reinterpret_cast<uintptr_t>(function) - r.module_base; };
  r.ops.push_back(
      "{\"op\":\"launch\",\"kernel\":" + quoted(name) + ",\"entry\":" + std::to_string(offset(entry)) +
      ",\"invoker\":" + std::to_string(offset(invoker)) + ",\"grid\":" + triple(config.grid) +
      ",\"block\":" + triple(config.block) + ",\"shared\":" + std::to_string(config.shared_bytes) +
      ",\"args\":\"" + hex_of(scan.bytes()) + "\",\"relocations\":" + scan.relocations() + "}");
}

void run_launch(const LaunchConfig& config, const char* name, void (*entry)(), Invoker invoker,
                const unsigned char* arguments, const Parameter* parameters, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    if (parameters[i].kind != 'p' && parameters[i].kind != 's') continue;
    for (unsigned at = parameters[i].offset; at + 8 <= parameters[i].offset + parameters[i].bytes; at += 8) {
      const void* address;
      memcpy(&address, arguments + at, sizeof address);
      if (Storage* s = find_storage(address)) s->kernel_wrote = true;
    }
  }
  KernelCall call;
  call.name = name;
  call.entry = entry;
  call.invoker = invoker;
  call.arguments = arguments;
  call.grid = config.grid;
  call.block = config.block;
  call.shared_bytes = static_cast<unsigned>(config.shared_bytes);
  DeviceAccess access;
  const KernelOutcome outcome = run_kernel(call);
  if (!outcome.fault_class.empty()) raise_fault(outcome.fault_class.c_str(), outcome.message);
}

}  // namespace

void launch_bytes(const LaunchConfig& config, const char* name, void (*entry)(), Invoker invoker,
                  const unsigned char* arguments, unsigned bytes, const Parameter* parameters,
                  unsigned count) {
  Runtime& r = runtime();
  if (kernel_running()) abandon_launch("unsupported", "a kernel launches a kernel");
  const uint64_t grid[3] = {config.grid.x, config.grid.y, config.grid.z};
  const uint64_t block[3] = {config.block.x, config.block.y, config.block.z};
  const char* violation = launch_limit_violation(grid, block, config.shared_bytes,
                                                 shared_limit(reinterpret_cast<const void*>(entry)));
  if (!violation && bytes > kMaxArgumentBytes) violation = "too many argument bytes";
  if (violation) {
    r.last_error = cudaErrorInvalidConfiguration;
    set_fault("launch", std::string(name) + "<<<>>>: " + violation + " (grid " + triple(config.grid) +
                            ", block " + triple(config.block) + ", shared " +
                            std::to_string(config.shared_bytes) + ")");
    return;
  }
  if (++r.launches > kMaxLaunches) raise_fault("timeout", "the program launches too many kernels");
  if (r.mode == Mode::kDirect) {
    run_launch(config, name, entry, invoker, arguments, parameters, count);
  } else {
    record_launch(config, name, entry, invoker, arguments, bytes, parameters, count);
  }
}

}  // namespace bicrl
