#include "launch/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

namespace bicrl {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

// Made before the handler is installed. Never freed: a signal may come while the process exits.
const std::string* announced = nullptr;

void announce() {
  if (!stop.exchange(true) && announced) [[maybe_unused]]
    const ssize_t written = write(STDERR_FILENO, announced->data(), announced->size());
}

extern "C" void on_stop_signal(int signal_number) {
  announce();
  // A second signal ends the process at once, whichever of them it is.
  signal(signal_number, SIG_DFL);
  if (signal_number == SIGUSR1) return;  // a warning: the batch system's SIGTERM behind it is the first
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

// Open MPI's launcher, asked to end, sends its ranks SIGCONT, waits odls_base_sigkill_timeout seconds, sends
// SIGTERM, waits as long again and kills them. The first of these is the time to stop.
extern "C" void on_continue(int, siginfo_t* info, void*) {
  if (info->si_pid == getppid()) announce();
}

bool parent_is_launcher() {
  std::ifstream file("/proc/" + std::to_string(getppid()) + "/comm");
  std::string name;
  std::getline(file, name);
  return name == "mpirun" || name == "mpiexec" || name == "orterun" || name == "orted";
}

}  // namespace

void install_stop_handler(const std::string& announcement) {
  if (!announcement.empty() && !announced) announced = new std::string("\n" + announcement + "\n");
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // What a batch system sends ahead of the end: mpirun forwards it to the ranks on all hosts, and kills
  // nobody.
  sigaction(SIGUSR1, &action, nullptr);
  if (!parent_is_launcher()) return;
  struct sigaction continued {};
  continued.sa_sigaction = on_continue;
  continued.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(SIGCONT, &continued, nullptr);
}

bool stop_requested() { return stop; }

}  // namespace bicrl
