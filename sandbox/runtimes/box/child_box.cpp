#include "sandbox/runtimes/box/child_box.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "sandbox/runtimes/box/confine.h"

namespace {

// Where a child may write. Not /tmp: Python itself may be installed below that, and a mount would hide it.
constexpr const char* kChildFolder = "/scratch";

// In a root of its own the parent keeps files for its children, who could change them if they share its user.
bool mount_private_folders(uint64_t tmp_bytes, const char* kept_folder) {
  char options[64];
  snprintf(options, sizeof options, "size=%llu,mode=1777", static_cast<unsigned long long>(tmp_bytes));
  // The parent's /proc shows the parent and the siblings, and a later program could not tell ours from
  // theirs.
  return unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) == 0 &&
         mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", kChildFolder, "tmpfs", MS_NOSUID | MS_NODEV, options) == 0 &&
         (!kept_folder || mount("none", kept_folder, nullptr,
                                MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) == 0) &&
         chdir(kChildFolder) == 0;
}

// Descriptors of the child: 0 nothing, 1 and 2 the log, 3 the channel. The order of the moves keeps sources
// alive.
bool arrange_descriptors(int channel_fd, int output_fd) {
  const int channel = fcntl(channel_fd, F_DUPFD, 16), output = fcntl(output_fd, F_DUPFD, 16);
  const int nothing = open("/dev/null", O_RDONLY);
  return channel >= 0 && output >= 0 && nothing >= 0 && dup2(nothing, 0) == 0 && dup2(output, 1) == 1 &&
         dup2(output, 2) == 2 && dup2(channel, 3) == 3 && syscall(SYS_close_range, 4, ~0u, 0) == 0;
}

}  // namespace

extern "C" {

int bicrl_enter_child_box(const ChildBox* spec) {
  setsid();
  umask(022);
  if (!arrange_descriptors(spec->channel_fd, spec->output_fd)) return 1;
  if (!mount_private_folders(spec->tmp_bytes, spec->kept_folder)) return 2;
  bicrl::box::Rlimits limits;
  limits.cpu_s = spec->cpu_s;
  limits.file_bytes = spec->file_bytes;
  limits.open_files = spec->open_files;
  limits.processes = spec->processes;
  limits.data_bytes = spec->data_bytes;
  if (!bicrl::box::set_limits(limits)) return 3;
  if (!bicrl::box::drop_privileges(spec->change_uid != 0, spec->uid)) return 4;
  if (!bicrl::box::install_filter(spec->filter, spec->filter_bytes)) return 5;
  return 0;
}

int bicrl_enter_root(const char* folder) {
  // The old root is stacked upon the new one and then taken off.
  return chdir(folder) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0
             ? chdir("/")
             : -1;
}

int bicrl_next_fork_in_new_pid_namespace(void) { return unshare(CLONE_NEWPID) == 0 ? 0 : errno; }
int bicrl_back_to_own_pid_namespace(int own) { return setns(own, CLONE_NEWPID) == 0 ? 0 : errno; }
}
