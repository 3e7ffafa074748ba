// The steps by which a process gives up its rights, in the order in which they must come. System calls only:
// used between fork and exec. Each returns true, or false with errno set.
#pragma once
#include <sys/types.h>

#include <cstdint>

namespace bicrl::box {

// Zero leaves a limit as it is.
struct Rlimits {
  uint64_t cpu_s = 0;  // then SIGXCPU, and SIGKILL a second later
  uint64_t file_bytes = 0;
  uint64_t open_files = 0;
  uint64_t processes = 0;
  uint64_t data_bytes = 0;
};

bool set_limits(const Rlimits& limits);            // core files are always off
bool drop_privileges(bool change_uid, uid_t uid);  // uid, groups, capabilities, no_new_privs, not dumpable
bool install_filter(const void* program, uint32_t bytes);  // BPF instructions

}  // namespace bicrl::box
