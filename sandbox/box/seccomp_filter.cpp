#include "sandbox/box/seccomp_filter.h"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "common/error.h"
#include "sandbox/box/process/descriptors.h"

namespace bicrl {
namespace {

// By name, so that a call that an older libseccomp does not know is left out instead of failing the build.
constexpr const char* kRefused[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_open", "pidfd_getfd",
    "pidfd_send_signal", "process_madvise", "process_mrelease", "move_pages", "migrate_pages",
    // kernel attack surface
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "keyctl", "add_key", "request_key", "fanotify_init", "lookup_dcookie", "modify_ldt", "memfd_secret",
    "vmsplice",
    // namespaces, mounts, the machine
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount",
    "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "name_to_handle_at", "open_by_handle_at",
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon",
    "swapoff", "acct", "settimeofday", "clock_settime", "adjtimex", "clock_adjtime", "quotactl",
    "quotactl_fd", "syslog", "iopl", "ioperm", "sethostname", "setdomainname", "vhangup", "nfsservctl"};
// The network; socketpair stays.
constexpr const char* kRefusedNetwork[] = {"bind", "listen", "connect", "accept", "accept4"};

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release) {
    BICRL_CHECK(context_, "seccomp_init");
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
  }

  void refuse(const char* name) { rule(SCMP_ACT_ERRNO(EPERM), name); }

  template <class... Conditions>
  void rule(uint32_t action, const char* name, Conditions... conditions) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR || call < 0) return;
    const int code = seccomp_rule_add(context_.get(), action, call, sizeof...(conditions), conditions...);
    BICRL_CHECK(code == 0, "seccomp rule for ", name, ": ", strerror(-code));
  }

  std::string bytes() const {
    const UniqueFd file = make_memfd("seccomp");
    const int code = seccomp_export_bpf(context_.get(), file.get());
    BICRL_CHECK(code == 0, "seccomp_export_bpf: ", strerror(-code));
    std::string program(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
    BICRL_CHECK(pread(file.get(), program.data(), program.size(), 0) == static_cast<ssize_t>(program.size()));
    return program;
  }

 private:
  std::unique_ptr<void, decltype(&seccomp_release)> context_;
};

std::string build(SyscallProfile profile) {
  Filter filter;
  for (const char* name : kRefused) filter.refuse(name);
  if (profile == SyscallProfile::kDriver) {
    filter.rule(SCMP_ACT_ERRNO(EPERM), "socket", SCMP_A0(SCMP_CMP_NE, AF_UNIX));
  } else {
    filter.refuse("socket");
    for (const char* name : kRefusedNetwork) filter.refuse(name);
  }
  filter.rule(SCMP_ACT_ERRNO(EPERM), "fcntl", SCMP_A1(SCMP_CMP_EQ, F_SETLEASE));
  filter.rule(SCMP_ACT_ERRNO(EPERM), "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, TIOCSTI));
  // The flags of clone3 lie in memory, out of a filter's sight; without it the C library uses clone.
  filter.rule(SCMP_ACT_ERRNO(ENOSYS), "clone3");
  for (const uint64_t flag :
       {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP})
    filter.rule(SCMP_ACT_ERRNO(EPERM), "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  if (profile == SyscallProfile::kSingleProcess) {
    filter.rule(SCMP_ACT_KILL_PROCESS, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    filter.rule(SCMP_ACT_KILL_PROCESS, "fork");
    filter.rule(SCMP_ACT_KILL_PROCESS, "vfork");
    filter.refuse("execve");
    filter.refuse("execveat");
  }
  return filter.bytes();
}

}  // namespace

std::string syscall_filter(SyscallProfile profile) {
  static const std::string program = build(SyscallProfile::kProgram);
  static const std::string single = build(SyscallProfile::kSingleProcess);
  static const std::string driver = build(SyscallProfile::kDriver);
  switch (profile) {
    case SyscallProfile::kProgram:
      return program;
    case SyscallProfile::kDriver:
      return driver;
    case SyscallProfile::kSingleProcess:
      return single;
  }
  return program;
}

}  // namespace bicrl
