// The replay program in two halves: the parent, which owns the clock and the outputs and never maps candidate
// code, and the child, one process per run, which loads the module, runs a trace on fresh buffers and is
// killed when it has reported.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/trace.h"

namespace bicrl::replay {

struct Options {
  std::string module_path, trace_path, inputs_path;
  int draws = 1;
  int repeat = 1;
  unsigned char poison = 0xff;  // of even draws; odd ones get the complement
  bool reverse = false;
  bool skip_launches = false;
  bool stop_early = false;  // at the first draw that fails: a kernel that hangs then costs its limit once
  int output_fd = -1, control_fd = -1;
  // Not negative: when every draw ended well, draw 0 is run twice more with this poison, first with the
  // threads in the other order, then without its launches. Their outputs follow those of the draws.
  int confirm_poison = -1;
  double run_limit_ms = 0;  // each of loading and running; 0: the caller's limit is the only one
};

// Shared with the child, which writes it before it ends with a fault. The child may write anything.
struct Report {
  char status[32];
  char message[480];
};

struct DrawReport {
  std::string status = "ok", message;
  int signal = 0;  // that ended the child by itself
  std::vector<double> run_ms;
};

// Once, before the first run: hides this process from its children.
void guard_parent();
// Runs one draw options.repeat times and stores its outputs at place `slot` of the output file. Throws Error
// if the machine fails.
DrawReport replay_draw(const Options& options, const Trace& trace, int draw, int slot);

// Runs in the child. Sends 'r' when ready, waits for one byte, runs, stores the outputs, sends 'd' and waits
// to be killed. `outputs` [draw_bytes] and `report` are shared with the parent, and with no other run.
[[noreturn]] void run_child(const Options& options, const Trace& trace, int draw, unsigned char* outputs,
                            Report& report, int channel);

}  // namespace bicrl::replay
