// The replay program in two halves: the parent, which owns clock and comparison and never maps candidate
// code, and the child, which loads the module, runs a trace on fresh buffers and is killed when it has
// reported.
#pragma once
#include <cstdint>
#include <string>

#include "sandbox/trace.h"

namespace bicrl::replay {

struct Options {
  std::string module_path, trace_path, inputs_path;
  int draws = 1;
  int repeat = 1;
  unsigned char poison = 0xff;
  bool reverse = false;
  bool skip_launches = false;
  int output_fd = -1, control_fd = -1;
  // Not negative: when every draw ended well, draw 0 is run twice more with this poison, first with the threads in
  // reverse order, then without its launches. Their outputs follow those of the draws.
  int confirm_poison = -1;
  double run_limit_ms = 0;  // 0: the caller's limit is the only one
};

// Shared with the child, which writes it before it ends with a fault.
struct Report {
  char status[32];
  char message[480];
};

// Runs in the child. Sends 'r' when ready, waits for one byte, runs, stores the outputs, sends 'd' and waits
// to be killed. `outputs` is the draw's part of the shared output memory.
[[noreturn]] void run_child(const Options& options, const Trace& trace, int draw, unsigned char* outputs,
                            Report& report, int channel);

}  // namespace bicrl::replay
