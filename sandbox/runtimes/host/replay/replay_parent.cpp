// The trusted half: forks a child for each run, times it, ends it and takes its outputs.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "replay.h"

namespace bicrl::replay {
namespace {

// What a run shares with its child. Fresh for each run, so that no run finds what another one has left, and
// apart from the output file, so that a run reaches no outputs but its own.
class SharedMemory {
 public:
  explicit SharedMemory(uint64_t output_bytes) : bytes_(sizeof(Report) + output_bytes) {
    void* p = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw Error(concat("memory for outputs: ", strerror(errno)));
    base_ = static_cast<unsigned char*>(p);
  }
  ~SharedMemory() { munmap(base_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Report& report() const { return *reinterpret_cast<Report*>(base_); }
  unsigned char* outputs() const { return base_ + sizeof(Report); }

 private:
  uint64_t bytes_;
  unsigned char* base_ = nullptr;
};
static_assert(sizeof(Report) % 64 == 0, "the outputs behind the report are aligned");

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void enter_child(const Options& options, const Trace& trace, int draw,
                              const SharedMemory& shared, int channel, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(4);
  const int nothing = open("/dev/null", O_RDWR);
  if (nothing >= 0)
    for (int fd = 0; fd < 3; ++fd) dup2(nothing, fd);
  if (channel > 3) close_range(3, static_cast<unsigned>(channel) - 1, 0);
  close_range(static_cast<unsigned>(channel) + 1, ~0u, 0);
  run_child(options, trace, draw, shared.outputs(), shared.report(), channel);
}

enum class Answer { kWanted, kNone, kLate };

// One byte decides; kNone if the child is gone or says something else.
Answer await(int channel, char wanted, double limit_ms) {
  const double end = now_ms() + limit_ms;
  for (;;) {
    pollfd wait{channel, POLLIN, 0};
    // Rounded up, so that the last wait does not end early.
    const int left = limit_ms > 0 ? static_cast<int>(std::max(0.0, end - now_ms())) + 1 : -1;
    const int n = poll(&wait, 1, left);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) return Answer::kLate;
    char got = 0;
    return n > 0 && read(channel, &got, 1) == 1 && got == wanted ? Answer::kWanted : Answer::kNone;
  }
}

struct Run {
  std::string status = "fault", message;
  int signal = 0;
  double ms = 0;
};

// The report is the child's word; it can only choose among ways to fail.
void explain(int status, const Report& shared, Run& run) {
  if (WIFSIGNALED(status)) {
    run.signal = WTERMSIG(status);
    const bool crash = run.signal == SIGSEGV || run.signal == SIGBUS || run.signal == SIGFPE ||
                       run.signal == SIGILL || run.signal == SIGABRT;
    run.status = crash                   ? "illegal_access"
                 : run.signal == SIGXCPU ? "timeout"
                 : run.signal == SIGSYS  ? "process"
                                         : "fault";
    run.message = run.signal == SIGSYS ? std::string("a kernel starts a process or a thread")
                                       : std::string("ended by signal ") + strsignal(run.signal);
    return;
  }
  run.message = "ended without having finished";
  const std::string said(shared.status, strnlen(shared.status, sizeof shared.status));
  for (const char* known : {"illegal_access", "launch", "memory", "unsupported", "cheating"})
    if (said == known) run.status = known;
  const std::string message(shared.message, strnlen(shared.message, sizeof shared.message));
  if (said.empty() || message.empty()) return;
  run.message.clear();
  for (const char c : message) run.message += c >= ' ' && c < 127 ? c : ' ';
}

// One run in a fresh process: fresh addresses, fresh globals.
Run run_once(const Options& options, const Trace& trace, int draw, const SharedMemory& shared) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(concat("socketpair: ", strerror(errno)));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw Error(concat("fork: ", strerror(errno)));
  if (child == 0) enter_child(options, trace, draw, shared, ends[1], parent);
  close(ends[1]);
  Run run;
  Answer answer = await(ends[0], 'r', options.run_limit_ms);
  if (answer == Answer::kWanted) {
    const char go = 'g';
    const double started = now_ms();
    answer =
        send(ends[0], &go, 1, MSG_NOSIGNAL) == 1 ? await(ends[0], 'd', options.run_limit_ms) : Answer::kNone;
    run.ms = now_ms() - started;
    if (answer == Answer::kWanted) run.status = "ok";
  }
  // At once: what it writes after its word does not count. One that is ending by itself keeps its status, and
  // one that has only closed the channel must not be waited for.
  kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (answer == Answer::kLate) {
    run.status = "timeout";
    run.message = concat("did not finish in ", options.run_limit_ms, " ms");
  } else if (run.status != "ok") {
    explain(status, shared.report(), run);
  }
  return run;
}

// True if the draw's outputs in the file are those of this run as well.
bool same_outputs(int fd, const unsigned char* outputs, uint64_t bytes, uint64_t from) {
  std::vector<unsigned char> stored(std::min<uint64_t>(bytes, 1 << 20));
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = pread(fd, stored.data(), std::min<uint64_t>(stored.size(), bytes - done),
                            static_cast<off_t>(from + done));
    if (n <= 0) throw Error("the output file cannot be read");
    if (memcmp(stored.data(), outputs + done, static_cast<size_t>(n)) != 0) return false;
    done += static_cast<uint64_t>(n);
  }
  return true;
}

void store_outputs(int fd, const unsigned char* outputs, uint64_t bytes, uint64_t to) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(fd, outputs + done, bytes - done, static_cast<off_t>(to + done));
    if (n <= 0) throw Error(concat("the output file cannot be written: ", strerror(errno)));
    done += static_cast<uint64_t>(n);
  }
}

}  // namespace

void guard_parent() {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) throw Error(concat("prctl: ", strerror(errno)));
}

DrawReport replay_draw(const Options& options, const Trace& trace, int draw, int slot) {
  const uint64_t bytes = trace.output_layout().draw_bytes, place = bytes * static_cast<uint64_t>(slot);
  DrawReport out;
  for (int r = 0; r < options.repeat; ++r) {
    const SharedMemory shared(bytes);
    Run run = run_once(options, trace, draw, shared);
    if (run.status == "ok" && r > 0 && !same_outputs(options.output_fd, shared.outputs(), bytes, place)) {
      // Otherwise a fast run could do without the work of the run whose outputs are compared.
      run.status = "nondeterministic";
      run.message = "two runs on the same inputs give different outputs";
    }
    out.status = run.status;
    out.message = run.message;
    out.signal = run.signal;
    if (run.status != "ok") break;
    if (r == 0) store_outputs(options.output_fd, shared.outputs(), bytes, place);
    out.run_ms.push_back(run.ms);
  }
  return out;
}

}  // namespace bicrl::replay
