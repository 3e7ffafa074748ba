#include "sandbox/runtimes/box/confine.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bicrl::box {
namespace {

bool set_limit(__rlimit_resource_t what, uint64_t value, uint64_t grace = 0) {
  if (value == 0) return true;
  const rlimit limit{value, value + grace};
  return setrlimit(what, &limit) == 0;
}

}  // namespace

bool set_limits(const Rlimits& limits) {
  const rlimit none{0, 0};
  // The signal that comes first says which limit it was; the second later comes SIGKILL.
  return setrlimit(RLIMIT_CORE, &none) == 0 && set_limit(RLIMIT_CPU, limits.cpu_s, /*grace=*/1) &&
         set_limit(RLIMIT_FSIZE, limits.file_bytes) && set_limit(RLIMIT_NOFILE, limits.open_files) &&
         set_limit(RLIMIT_NPROC, limits.processes) && set_limit(RLIMIT_DATA, limits.data_bytes);
}

bool drop_privileges(bool change_uid, uid_t uid) {
  if (change_uid &&
      (setgroups(0, nullptr) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0))
    return false;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct nothing[2] = {};
  return syscall(SYS_capset, &header, nothing) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool install_filter(const void* program, uint32_t bytes) {
  sock_fprog filter;
  filter.len = static_cast<unsigned short>(bytes / sizeof(sock_filter));
  filter.filter = static_cast<sock_filter*>(const_cast<void*>(program));
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace bicrl::box
