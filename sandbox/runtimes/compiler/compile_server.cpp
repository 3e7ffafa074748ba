// Preloaded into the C++ compiler proper (cc1plus), whose command line ends with `-include PRELUDE -include
// kUnitPath`. When the compiler opens kUnitPath it has read its precompiled prelude, which is a third of the
// work for a usual candidate. From there on this process serves: it forks a confined child for each program,
// which answers one request and forks the compiler for each of its units. Only in those does the call return,
// with the unit's text as the file that was to be opened.
//
// request  {"kind": "compile", "steps": [[argument...]...], "output": file, "most_bytes"} + the units' texts.
//          The compiler leaves unit_0.s and so on in the working folder; the steps make the output of them.
// replies  {"kind": "module", "ok": true} + the output, empty if it has more bytes
//          {"kind": "module", "ok": false, "program", "signal", "status"} + what was printed, of the program
//          that failed
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/frontend/warm_compiler.h"
#include "sandbox/runtimes/box/fork_server.h"
#include "sandbox/runtimes/box/frames.h"

namespace bicrl::box {
namespace {

constexpr size_t kMaxLogBytes = 64u << 10;
constexpr const char* kLog = "log";

// In the compiler the usual ones lead back here.
int open_file(const char* path, int flags, mode_t mode = 0644) {
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

bool write_file(const std::string& path, const std::string& text) {
  const int file = open_file(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  bool good = file >= 0;
  for (size_t done = 0; good && done < text.size();) {
    const ssize_t n = write(file, text.data() + done, text.size() - done);
    good = n > 0;
    if (good) done += static_cast<size_t>(n);
  }
  if (file >= 0) close(file);
  return good;
}

// At most so many bytes; empty if there is no such file.
std::string read_file(const std::string& path, size_t most) {
  std::string text;
  const int file = open_file(path.c_str(), O_RDONLY | O_NOFOLLOW);
  if (file < 0) return text;
  struct stat about {};
  if (fstat(file, &about) == 0 && S_ISREG(about.st_mode)) {
    text.resize(std::min(most, static_cast<size_t>(about.st_size)));
    const ssize_t n = read(file, text.data(), text.size());
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  }
  close(file);
  return text;
}

// What the process of one program does, which is a fork of the compiler like its own children.
class ProgramProcess {
 public:
  // The descriptor of a unit's text in a process that shall compile it.
  int run();

 private:
  bool wait_for(pid_t pid, const std::string& program);
  int become_compiler(const std::string& unit) const;
  bool run_step(const std::vector<std::string>& arguments);
  void fail(const std::string& program, int signal, int status) const;
  void answer(const std::string& output, size_t most_bytes) const;
};

// Out of memory is known to the server only, from the control group: it asks how this process ended.
void ProgramProcess::fail(const std::string& program, int signal, int status) const {
  if (signal == SIGKILL) _exit(kKilledStatus);
  send_frame(
      kChannelFd,
      {{"kind", "module"}, {"ok", false}, {"program", program}, {"signal", signal}, {"status", status}},
      {read_file(kLog, kMaxLogBytes)});
}

bool ProgramProcess::wait_for(pid_t pid, const std::string& program) {
  int status = 0;
  if (pid < 0) _exit(kNoProcessStatus);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  fail(program, WIFSIGNALED(status) ? WTERMSIG(status) : 0, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  return false;
}

int ProgramProcess::become_compiler(const std::string& unit) const {
  close(kChannelFd);
  const int assembly = open_file((unit + ".s").c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  const int log = open_file(kLog, O_WRONLY | O_CREAT | O_APPEND);
  if (assembly < 0 || log < 0 || dup2(assembly, 1) < 0 || dup2(log, 2) < 0) _exit(1);
  return open_file((unit + ".cpp").c_str(), O_RDONLY);
}

bool ProgramProcess::run_step(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const char* environment[] = {"PATH=/usr/bin", "LC_ALL=C", "TMPDIR=/scratch", nullptr};
  const int log = open_file(kLog, O_WRONLY | O_CREAT | O_APPEND);
  const pid_t pid = vfork();
  if (pid == 0) {
    dup2(log, 1);
    dup2(log, 2);
    syscall(SYS_close_range, 3, ~0u, 0);
    execve(argv[0], argv.data(), const_cast<char**>(environment));
    _exit(127);
  }
  close(log);
  return wait_for(pid, arguments[0]);
}

void ProgramProcess::answer(const std::string& output, size_t most_bytes) const {
  std::string bytes = read_file(output, most_bytes + 1);
  if (bytes.size() > most_bytes) bytes.clear();
  send_frame(kChannelFd, {{"kind", "module"}, {"ok", true}}, {bytes});
}

int ProgramProcess::run() {
  const std::optional<Frame> request = receive_frame(kChannelFd);
  if (!request) _exit(0);
  for (size_t i = 0; i < request->blobs.size(); ++i) {
    const std::string unit = "unit_" + std::to_string(i);
    if (!write_file(unit + ".cpp", request->blobs[i])) _exit(1);
    const pid_t pid = fork();
    if (pid == 0) return become_compiler(unit);
    if (!wait_for(pid, "cc1plus")) _exit(0);
  }
  for (const auto& step : request->header.at("steps"))
    if (!run_step(step.get<std::vector<std::string>>())) _exit(0);
  answer(request->header.at("output").get<std::string>(), request->header.at("most_bytes").get<size_t>());
  _exit(0);
}

int open_hook(const char* path, int flags, mode_t mode) {
  if (strcmp(path, kUnitPath) != 0) return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
  serve_forks();
  return ProgramProcess().run();
}

mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

}  // namespace
}  // namespace bicrl::box

// In place of the C library's.
extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = bicrl::box::mode_of(flags, rest);
  va_end(rest);
  return bicrl::box::open_hook(path, flags, mode);
}

__attribute__((visibility("default"), alias("open"))) int open64(const char* path, int flags, ...);
}
