// System call filters of the boxes, as BPF programs ready for prctl(PR_SET_SECCOMP) or bwrap --seccomp.
#pragma once
#include <string>

namespace bicrl {

enum class SyscallProfile {
  kProgram,       // may start processes: programs of boxes, the compiler
  kDriver,        // and open Unix sockets, as NVIDIA's driver does: of its box's own network alone
  kSingleProcess  // threads only: a fork ends the process with SIGSYS
};

// Refused calls fail with EPERM: kernel attack surface (bpf, io_uring, keys, userfaultfd, perf), other
// processes' memory, mounts and namespaces, modules, and every socket but socketpair(). Thread-safe; the
// reply is a copy of a constant. Throws Error if libseccomp fails.
std::string syscall_filter(SyscallProfile profile);

}  // namespace bicrl
