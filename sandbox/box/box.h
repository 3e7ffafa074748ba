// Boxes, and how this folder works.
//
// Code that is not ours runs in a box: a bubblewrap with namespaces of its own, an unprivileged uid, a
// read-only root that holds only what is named, a system call filter, and limits on everything. There are two
// kinds. run_box() below runs one program from start to end (the executor); the first process of its box is
// bicrl-box-init. A Zygote (zygote.h) keeps a warm process in a box, a Python interpreter or the C++
// compiler, which forks a confined child for each candidate or reference.
//
// A BoxHost (box_host.h), made once per server, finds out what the machine offers and lends each box a uid
// and a control group (cgroup.h). Every box is started by spawn.h, and ends with the thread that
// started it. command.h runs trusted programs of the machine, without a box. What runs inside boxes is in
// sandbox/runtimes/; docs/process_tree.md shows all processes, and what is left when one dies.
#pragma once
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/box/box_host.h"
#include "sandbox/box/seccomp_filter.h"

namespace bicrl {

struct BoxLimits {
  double wall_s = 10;
  int cpu_s = 10;                      // per process
  uint64_t memory_bytes = 1ull << 30;  // control group, and private data of one process
  uint64_t data_bytes = 0;             // private data of one process if that is to be another limit
  int processes = 64;                  // threads count
  uint64_t file_bytes = 64ull << 20;
  int open_files = 256;
  size_t output_bytes = 64u << 10;  // stdout and stderr together
};

// A file of at most max_bytes that is handed out after the program's end.
struct BoxExport {
  std::string path;
  uint64_t max_bytes = 0;
};

struct BoxSpec {
  std::vector<std::string> argv;  // argv[0]: absolute path inside the box
  std::vector<std::string> env;   // "NAME=value"; empty by default
  SystemRoot root = SystemRoot::kLibraries;
  std::vector<BoxMount> mounts;
  std::vector<std::filesystem::path> devices;  // besides null, zero and random; the program may write to them
  bool process_folder = false;                 // /proc, of the box's own processes
  // A private tmpfs that the program may write to, also its working folder. Empty: nothing is writable.
  std::string work_folder;
  uint64_t work_bytes = 64ull << 20;
  std::vector<std::pair<std::string, std::string_view>> files;  // path under work_folder, content
  std::vector<std::pair<int, int>> fds;                         // ours, number in the box (16 and above)
  std::vector<BoxExport> exports;
  BoxLimits limits;
  SyscallProfile syscalls = SyscallProfile::kProgram;
  bool on_all_cores = false;  // also on those that are set aside
};

enum class BoxEnd {
  kExited,     // code is the exit status
  kSignalled,  // code is the signal
  kTimeout,    // wall or CPU limit
  kMemory,     // memory limit
  kOutputLimit,
  kCancelled,  // the caller asked for it
  kBoxFailed   // infrastructure: reason says what
};

// Keeps apart what the program did from what the box failed to do: only the latter is infrastructure.
struct BoxResult {
  BoxEnd end = BoxEnd::kBoxFailed;
  int code = 0;
  std::string reason;                 // of kBoxFailed
  std::string output;                 // stdout and stderr, at most output_bytes
  std::vector<std::string> exported;  // as BoxSpec::exports; empty if missing, too large or not a plain file
  bool process_limit_hit = false;
  double wall_ms = 0;   // of the program
  double total_ms = 0;  // with making and ending the box
  double cpu_ms = 0;

  bool succeeded() const { return end == BoxEnd::kExited && code == 0; }
};

// Blocks. Thread-safe; the calling thread must outlive the box, which it does as this call waits for its end.
BoxResult run_box(BoxHost& host, const BoxSpec& spec, std::stop_token stop = {});

}  // namespace bicrl
