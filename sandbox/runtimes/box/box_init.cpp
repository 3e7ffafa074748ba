// First process of a program's box: starts the program with limits and without rights, waits, ends whatever
// it left behind, hands out the files asked for, and reports. Runs no code of the candidate's.
//
// bicrl-box-init [--uid N] [--chdir DIR] --status FD --filter FD [--cpu S] [--file BYTES] [--files N]
//                [--processes N] [--data BYTES] [--export FD MAX_BYTES PATH]... -- PROGRAM
//                ARG...
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "sandbox/box/box_report.h"
#include "sandbox/runtimes/box/confine.h"

namespace {

using bicrl::box::Report;
using bicrl::box::SetupStep;

constexpr int kMaxExports = 8;

struct Export {
  int fd = -1;
  off_t max_bytes = 0;
  const char* path = nullptr;
};

struct Options {
  bool change_uid = false;
  uid_t uid = 0;
  const char* folder = nullptr;
  int status_fd = -1, filter_fd = -1;
  bicrl::box::Rlimits limits;
  Export exports[kMaxExports];
  int export_count = 0;
  char** program = nullptr;
};

bool parse(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const char* name = argv[i];
    if (strcmp(name, "--") == 0) {
      o.program = argv + i + 1;
      return *o.program && o.status_fd >= 0 && o.filter_fd >= 0;
    }
    if (i + 1 >= argc) return false;
    const char* text = argv[++i];
    const uint64_t value = strtoull(text, nullptr, 10);
    if (strcmp(name, "--uid") == 0)
      o.change_uid = true, o.uid = static_cast<uid_t>(value);
    else if (strcmp(name, "--chdir") == 0)
      o.folder = text;
    else if (strcmp(name, "--status") == 0)
      o.status_fd = static_cast<int>(value);
    else if (strcmp(name, "--filter") == 0)
      o.filter_fd = static_cast<int>(value);
    else if (strcmp(name, "--cpu") == 0)
      o.limits.cpu_s = value;
    else if (strcmp(name, "--file") == 0)
      o.limits.file_bytes = value;
    else if (strcmp(name, "--files") == 0)
      o.limits.open_files = value;
    else if (strcmp(name, "--processes") == 0)
      o.limits.processes = value;
    else if (strcmp(name, "--data") == 0)
      o.limits.data_bytes = value;
    else if (strcmp(name, "--export") == 0 && i + 2 < argc && o.export_count < kMaxExports) {
      o.exports[o.export_count++] = {static_cast<int>(value),
                                     static_cast<off_t>(strtoull(argv[i + 1], nullptr, 10)), argv[i + 2]};
      i += 2;
    } else
      return false;
  }
  return false;
}

struct SetupFailure {
  SetupStep step;
  int error;
};

[[noreturn]] void run_program(const Options& o, const void* filter, uint32_t filter_bytes, int failure_fd) {
  const auto fail = [&](SetupStep step) {
    const SetupFailure failure{step, errno};
    if (write(failure_fd, &failure, sizeof failure) < 0) _exit(125);
    _exit(126);
  };
  setsid();
  umask(022);
  if (!bicrl::box::set_limits(o.limits)) fail(SetupStep::kLimits);
  if (!bicrl::box::drop_privileges(o.change_uid, o.uid)) fail(SetupStep::kPrivileges);
  if (o.folder && chdir(o.folder) != 0) fail(SetupStep::kFolder);
  if (!bicrl::box::install_filter(filter, filter_bytes)) fail(SetupStep::kFilter);
  execve(o.program[0], o.program, environ);
  fail(SetupStep::kExec);
  _exit(126);
}

int64_t now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1000000 + t.tv_nsec / 1000;
}

int64_t us(const timeval& t) { return int64_t{t.tv_sec} * 1000000 + t.tv_usec; }

// Copies a file that the program made. Only a plain file: a link could name anything that this process may
// read.
void hand_out(const Export& item) {
  const int in = open(item.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  if (in < 0) return;
  if (fstat(in, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 && info.st_size <= item.max_bytes)
    for (off_t done = 0; done < info.st_size;)
      if (sendfile(item.fd, in, &done, static_cast<size_t>(info.st_size - done)) <= 0) break;
  close(in);
}

void supervise(const Options& o, pid_t program, int64_t started_us, Report& report) {
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, 0)) != program;)
    if (pid < 0 && errno != EINTR) break;
  report.wait_status = status;
  report.wall_us = now_us() - started_us;
  kill(-1, SIGKILL);
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  report.cpu_us = us(usage.ru_utime) + us(usage.ru_stime);
  for (int i = 0; i < o.export_count; ++i) hand_out(o.exports[i]);
}

bool make_private(const Options& o) {
  for (const int fd : {o.status_fd, o.filter_fd})
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) return false;
  for (int i = 0; i < o.export_count; ++i)
    if (fcntl(o.exports[i].fd, F_SETFD, FD_CLOEXEC) != 0) return false;
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

void start_and_supervise(const Options& o, Report& report) {
  static char filter[1 << 16];
  const ssize_t filter_bytes = pread(o.filter_fd, filter, sizeof filter, 0);
  int failure[2];
  if (filter_bytes <= 0 || !make_private(o) || pipe2(failure, O_CLOEXEC) != 0) {
    report.failed_step = SetupStep::kArguments;
    report.error = errno;
    return;
  }
  const int64_t started_us = now_us();
  const pid_t pid = fork();
  if (pid < 0) {
    report.failed_step = SetupStep::kFork;
    report.error = errno;
    return;
  }
  if (pid == 0) run_program(o, filter, static_cast<uint32_t>(filter_bytes), failure[1]);
  close(failure[1]);
  SetupFailure said;
  ssize_t n;
  while ((n = read(failure[0], &said, sizeof said)) < 0 && errno == EINTR) {
  }
  if (n == static_cast<ssize_t>(sizeof said)) {
    report.failed_step = said.step;
    report.error = said.error;
  }
  supervise(o, pid, started_us, report);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  Report report;
  if (parse(argc, argv, options))
    start_and_supervise(options, report);
  else
    report.failed_step = SetupStep::kArguments;
  if (options.status_fd < 0 || write(options.status_fd, &report, sizeof report) < 0) return 1;
  return 0;
}
