#include "launch/signals.h"

#include <signal.h>

#include <atomic>

namespace bicrl {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

extern "C" void on_stop_signal(int signal_number) {
  stop = true;
  // A second signal ends the process at once.
  signal(signal_number, SIG_DFL);
}

}  // namespace

void install_stop_handler() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool stop_requested() { return stop; }

}  // namespace bicrl
