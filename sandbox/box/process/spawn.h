// Starts a program from a process with many threads, and waits for it.
#pragma once
#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bicrl {

struct SpawnSpec {
  std::vector<std::string> argv;  // argv[0] is an absolute path
  std::vector<std::string> env;   // "NAME=value"; nothing is inherited
  // Descriptors of the child: {ours, number in the child}. All others are closed; 0-2 default to /dev/null.
  std::vector<std::pair<int, int>> fds;
  // cgroup.procs files that the child joins before the program starts.
  std::vector<std::string> join;
  std::optional<cpu_set_t> cores = {};  // that it may run on; nothing: all of ours
};

// The child dies with the calling *thread*: call from threads that outlive it. Throws Error if the process
// cannot be started.
pid_t spawn(const SpawnSpec& spec);

// Blocks until the child is gone and reaps it.
void reap(pid_t pid);

}  // namespace bicrl
