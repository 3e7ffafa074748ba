// A crash in the record box becomes a last frame on the channel: which class depends on what was touched.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "runtime.h"

namespace bicrl {
namespace {

// Writes {"kind":"fault",...} as a frame with async-signal-safe calls only, and ends the process.
[[noreturn]] void last_frame(const char* fault_class, const char* message) {
  char json[512];
  char* p = json;
  const auto put = [&p](const char* text) {
    while (*text) *p++ = *text++;
  };
  put("{\"kind\":\"fault\",\"class\":\"");
  put(fault_class);
  put("\",\"message\":\"");
  put(message);
  put("\",\"blobs\":[]}");
  const auto size = static_cast<uint32_t>(p - json);
  const int fd = runtime().channel;
  if (fd >= 0 && write(fd, &size, 4) == 4) {
    for (const char* from = json; from < p;) {
      const ssize_t n = write(fd, from, static_cast<size_t>(p - from));
      if (n <= 0) break;
      from += n;
    }
  }
  _exit(0);
}

void on_fault(int signal, siginfo_t* info, void*) {
  if ((signal == SIGSEGV || signal == SIGBUS) && find_storage(info->si_addr))
    last_frame("host_read", "the host part reads device data (through a pointer)");
  last_frame("record", signal == SIGABRT ? "the program aborted" : "the program crashed on the host");
}

}  // namespace

void install_fault_handlers() {
  // The stack may be what overflowed, so handlers have one of their own.
  constexpr size_t kStackBytes = 64 << 10;
  void* stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return;
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = kStackBytes;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal, &action, nullptr);
}

}  // namespace bicrl
