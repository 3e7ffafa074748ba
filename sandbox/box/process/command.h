// Runs a program of this machine that ends within seconds, and collects its output. For trusted programs
// only: there is no box around it. Thread-safe.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace bicrl {

struct CommandResult {
  bool succeeded = false;  // exit code 0 within the limit
  int exit_code = -1;      // -1 if a signal ended it, or it could not start
  std::string output;      // stdout and stderr, bounded, without white space at the end
};

// argv[0] is an absolute path; `env` is the whole environment ("NAME=value").
CommandResult run_command(const std::vector<std::string>& argv, const std::vector<std::string>& env = {},
                          double limit_s = 20);

// The same for a child that runs already and writes to `pipe`: reads until it closes that or the
// limit has passed, then ends and reaps it.
CommandResult collect_output(pid_t pid, int pipe, double limit_s);

}  // namespace bicrl
