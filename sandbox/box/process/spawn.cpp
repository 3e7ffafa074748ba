#include "sandbox/box/process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "sandbox/box/process/descriptors.h"

namespace bicrl {
namespace {

// Everything the child needs, prepared before vfork: between vfork and exec only system calls are allowed.
struct Prepared {
  std::vector<char*> argv, env;
  std::vector<int> from, staged, to;
  std::vector<const char*> join;
  const cpu_set_t* cores = nullptr;
  int null_fd = -1;
  int first_free = 3;  // above every target number
  volatile int error = 0;
};

Prepared prepare(const SpawnSpec& spec, int null_fd) {
  Prepared p;
  for (const auto& arg : spec.argv) p.argv.push_back(const_cast<char*>(arg.c_str()));
  for (const auto& pair : spec.env) p.env.push_back(const_cast<char*>(pair.c_str()));
  p.argv.push_back(nullptr);
  p.env.push_back(nullptr);
  for (const auto& [ours, theirs] : spec.fds) {
    p.from.push_back(ours);
    p.to.push_back(theirs);
    p.first_free = std::max(p.first_free, theirs + 1);
  }
  for (int standard = 0; standard < 3; ++standard)
    if (std::find(p.to.begin(), p.to.end(), standard) == p.to.end()) {
      p.from.push_back(null_fd);
      p.to.push_back(standard);
    }
  p.staged.resize(p.from.size());
  for (const auto& file : spec.join) p.join.push_back(file.c_str());
  if (spec.cores) p.cores = &*spec.cores;
  return p;
}

bool join_cgroup(const char* file) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  const bool joined = fd >= 0 && write(fd, "0", 1) == 1;
  if (fd >= 0) close(fd);
  return joined;
}

[[noreturn]] void child_main(Prepared& p) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid();
  bool good = true;
  for (const char* file : p.join) good = good && join_cgroup(file);
  // A machine that has lost cores since has none to spare, and the program starts all the same.
  if (p.cores) (void)sched_setaffinity(0, sizeof *p.cores, p.cores);
  // Source numbers may collide with target numbers, so every source is first moved above all targets.
  for (size_t i = 0; good && i < p.from.size(); ++i)
    good = (p.staged[i] = fcntl(p.from[i], F_DUPFD, p.first_free)) >= 0;
  if (good) syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
  for (size_t i = 0; good && i < p.to.size(); ++i) good = dup2(p.staged[i], p.to[i]) >= 0;
  if (good) {
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execve(p.argv[0], p.argv.data(), p.env.data());
  }
  p.error = errno;
  _exit(127);
}

// vfork rather than fork: a server that caches hundreds of megabytes must not copy its page tables per box.
__attribute__((noinline)) pid_t vfork_child(Prepared& p) {
  const pid_t pid = vfork();
  if (pid == 0) child_main(p);
  return pid;
}

}  // namespace

pid_t spawn(const SpawnSpec& spec) {
  const UniqueFd null_fd(open("/dev/null", O_RDWR | O_CLOEXEC));
  Prepared p = prepare(spec, null_fd.get());
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork_child(p);
  const int code = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) throw Error(concat("cannot start a process: ", strerror(code)));
  if (p.error != 0) {
    reap(pid);
    throw Error(concat("cannot start ", spec.argv[0], ": ", strerror(p.error)));
  }
  return pid;
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace bicrl
