// The half that runs candidate code. Nothing that it says is believed, but that it has failed.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "engine.h"
#include "replay.h"
#include "runtime.h"

namespace bicrl::replay {
namespace {

Report* the_report = nullptr;

[[noreturn]] void end_with(const char* status, const std::string& message) {
  snprintf(the_report->status, sizeof the_report->status, "%s", status);
  snprintf(the_report->message, sizeof the_report->message, "%s", message.c_str());
  _exit(3);
}

std::string current_kernel = "the start";  // for messages

void on_signal(int signal, siginfo_t*, void*) {
  const char* what = signal == SIGFPE    ? "an integer division by zero in "
                     : signal == SIGABRT ? "an abort in "
                     : signal == SIGILL  ? "an illegal instruction in "
                                         : "an access outside the buffers in ";
  char* p = the_report->message;
  char* const end = p + sizeof the_report->message - 1;
  if (!kernel_running()) what = "a crash outside any kernel, after ";
  for (const char* s = what; *s && p < end;) *p++ = *s++;
  for (const char* s = current_kernel.c_str(); *s && p < end;) *p++ = *s++;
  *p = '\0';
  memcpy(the_report->status, "illegal_access", 15);
  _exit(3);
}

void install_handlers() {
  constexpr size_t kStackBytes = 64 << 10;
  stack_t alternative{};
  alternative.ss_sp = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  alternative.ss_size = kStackBytes;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

// A call that starts a process or a thread ends the child with SIGSYS: kernels have no use for either, and
// one that outlived its run could write when nobody looks.
void forbid_processes() {
  constexpr uint32_t kOtherTables = 0x40000000;  // of the x32 calls
  const sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 6),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOtherTables, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], const_cast<sock_filter*>(filter)};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    end_with("fault", "the machine has no seccomp filters");
}

struct Module {
  uintptr_t base = 0;
  struct Range {
    uintptr_t begin, end;
    bool code, writable;
  };
  std::vector<Range> ranges;

  bool holds(uint64_t offset, uint64_t bytes, bool code) const {
    const uintptr_t at = base + offset;
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) {
      return (code ? r.code : r.writable) && at >= r.begin && at <= r.end && bytes <= r.end - at;
    });
  }
};

int collect(struct dl_phdr_info* info, size_t, void* context) {
  auto& module = *static_cast<Module*>(context);
  if (info->dlpi_addr != module.base) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    const uintptr_t begin = info->dlpi_addr + h.p_vaddr;
    module.ranges.push_back({begin, begin + h.p_memsz, (h.p_flags & PF_X) != 0, (h.p_flags & PF_W) != 0});
  }
  return 1;
}

Module load_module(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  struct link_map* map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
    const char* reason = dlerror();
    end_with("fault", concat("the module does not load: ", reason ? reason : "unknown reason"));
  }
  Module module;
  module.base = map->l_addr;
  dl_iterate_phdr(collect, &module);
  find_static_shared(path.c_str(), module.base);
  return module;
}

c10::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::kFloat32:
      return c10::ScalarType::Float;
    case DType::kFloat64:
      return c10::ScalarType::Double;
    case DType::kFloat16:
      return c10::ScalarType::Half;
    case DType::kBFloat16:
      return c10::ScalarType::BFloat16;
    case DType::kInt8:
      return c10::ScalarType::Char;
    case DType::kUInt8:
      return c10::ScalarType::Byte;
    case DType::kInt16:
      return c10::ScalarType::Short;
    case DType::kInt32:
      return c10::ScalarType::Int;
    case DType::kInt64:
      return c10::ScalarType::Long;
    case DType::kBool:
      break;
  }
  return c10::ScalarType::Bool;
}

// Wide, so that an index that is off by rows or blocks does not find the next buffer. Closed pages cost
// addresses only, and the most buffers that a trace may have still fit.
constexpr size_t kReplayGuardBytes = 256 << 20;

class Replay {
 public:
  Replay(const Options& options, const Trace& trace, int draw) : options_(options), trace_(trace) {
    // First, so that the module's constructors find no inputs in memory.
    module_ = load_module(options.module_path);
    // Each position of a buffer finds other errors: behind the end on even draws, before the start on odd
    // ones.
    const bool end_aligned = draw % 2 == 0;
    for (const TraceBuffer& b : trace.buffers) {
      const GuardedMemory memory = map_guarded(b.bytes, end_aligned, kReplayGuardBytes);
      if (!memory.mapping) end_with("memory", concat("no memory for a buffer of ", b.bytes, " bytes"));
      if (b.kind == TraceBuffer::Kind::kConstant) {
        memcpy(memory.data, trace.blobs[b.source].data(), b.bytes);
      } else if (b.kind == TraceBuffer::Kind::kAllocation) {
        memset(memory.data, engine_options().poison, b.bytes);
      }
      buffers_.push_back(memory.data);
    }
    read_inputs(draw);
  }

  void run() {
    for (const TraceOp& op : trace_.ops) {
      switch (op.kind) {
        case TraceOp::Kind::kLaunch:
          if (!options_.skip_launches) launch(op);
          break;
        case TraceOp::Kind::kFill:
          fill_elements(data(op.target), op.target.tensor.strides.data(), op.target.tensor.sizes.data(),
                        op.target.tensor.sizes.size(), op.value.data(), op.value.size());
          break;
        case TraceOp::Kind::kCopy:
          copy(data(op.target), op.target.tensor, op.source);
          break;
        case TraceOp::Kind::kUpload:
          memcpy(data(op.target), trace_.blobs[op.blob].data(), trace_.blobs[op.blob].size());
          break;
        case TraceOp::Kind::kSymbolUpload: {
          const std::string& blob = trace_.blobs[op.blob];
          memcpy(symbol(op.symbol_offset, blob.size()), blob.data(), blob.size());
          break;
        }
        case TraceOp::Kind::kSymbolCopy:
          memcpy(symbol(op.symbol_offset, op.source.tensor.span_bytes()), data(op.source),
                 op.source.tensor.span_bytes());
          break;
      }
    }
  }

  void store_outputs(unsigned char* memory) const {
    for (size_t i = 0; i < trace_.outputs.size(); ++i) {
      const TraceView& view = trace_.outputs[i];
      TensorLayout dense = view.tensor;
      dense.strides = contiguous_strides(dense.sizes);
      copy(memory + trace_.output_layout().leaves[i].offset_bytes, dense, view);
    }
  }

 private:
  void read_inputs(int draw) {
    const int fd = open(options_.inputs_path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) end_with("fault", "the inputs cannot be opened");
    for (size_t i = 0; i < trace_.buffers.size(); ++i) {
      const TraceBuffer& b = trace_.buffers[i];
      if (b.kind != TraceBuffer::Kind::kInput) continue;
      const uint64_t from = static_cast<uint64_t>(draw) * trace_.inputs.draw_bytes +
                            trace_.inputs.leaves[b.source].offset_bytes;
      for (uint64_t done = 0; done < b.bytes;) {
        const ssize_t n = pread(fd, buffers_[i] + done, b.bytes - done, static_cast<off_t>(from + done));
        if (n <= 0) end_with("fault", "the inputs are cut off");
        done += static_cast<uint64_t>(n);
      }
    }
    close(fd);
  }

  unsigned char* data(const TraceView& view) const { return buffers_[view.buffer] + view.offset_bytes; }

  void copy(unsigned char* target, const TensorLayout& layout, const TraceView& source) const {
    copy_elements(target, layout.strides.data(), scalar_type(layout.dtype), data(source),
                  source.tensor.strides.data(), scalar_type(source.tensor.dtype), layout.sizes.data(),
                  layout.sizes.size());
  }

  unsigned char* symbol(uint64_t offset, uint64_t bytes) const {
    if (!module_.holds(offset, bytes, false)) end_with("illegal_access", "a copy past a global variable");
    return reinterpret_cast<unsigned char*>(module_.base + offset);
  }

  void launch(const TraceOp& op) {
    if (!module_.holds(op.entry, 1, true) || !module_.holds(op.invoker, 1, true))
      end_with("cheating", "a launch of something that is no code of the module");
    std::vector<uint64_t> storage(op.arguments.size() / 8 + 4, 0);
    auto* arguments = reinterpret_cast<unsigned char*>(storage.data());
    memcpy(arguments, op.arguments.data(), op.arguments.size());
    for (const TraceRelocation& r : op.relocations) {
      const uintptr_t address =
          (r.buffer < 0 ? module_.base
                        : reinterpret_cast<uintptr_t>(buffers_[static_cast<size_t>(r.buffer)])) +
          r.addend;
      memcpy(arguments + r.offset, &address, sizeof address);
    }
    KernelCall call;
    call.name = op.kernel.c_str();
    call.entry = reinterpret_cast<void (*)()>(module_.base + op.entry);
    call.invoker = reinterpret_cast<Invoker>(module_.base + op.invoker);
    call.arguments = arguments;
    call.grid = {op.grid[0], op.grid[1], op.grid[2]};
    call.block = {op.block[0], op.block[1], op.block[2]};
    call.shared_bytes = op.shared_bytes;
    current_kernel = op.kernel;
    const KernelOutcome outcome = run_kernel(call);
    if (!outcome.fault_class.empty())
      end_with(outcome.fault_class.c_str(), op.kernel + ": " + outcome.message);
  }

  const Options& options_;
  const Trace& trace_;
  std::vector<unsigned char*> buffers_;
  Module module_;
};

}  // namespace

void run_child(const Options& options, const Trace& trace, int draw, unsigned char* outputs, Report& report,
               int channel) {
  the_report = &report;
  install_handlers();
  forbid_processes();
  runtime().mode = Mode::kReplay;
  engine_options().reverse = options.reverse;
  // A value that suits one pattern (zero, a tiny number) does not suit its complement.
  engine_options().poison = draw % 2 == 0 ? options.poison : static_cast<unsigned char>(~options.poison);
  try {
    Replay replay(options, trace, draw);
    // Mapped before the clock starts.
    memset(outputs, engine_options().poison, trace.output_layout().draw_bytes);
    char signal = 'r';
    if (write(channel, &signal, 1) != 1 || read(channel, &signal, 1) != 1) _exit(4);
    replay.run();
    replay.store_outputs(outputs);
    signal = 'd';
    if (write(channel, &signal, 1) != 1) _exit(4);
  } catch (const FaultRaised&) {
    end_with(runtime().fault.fault_class.c_str(), runtime().fault.message);
  } catch (const std::exception& e) {
    end_with("fault", e.what());
  }
  for (;;) pause();
}

}  // namespace bicrl::replay
