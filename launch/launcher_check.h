// Check of the ranks and cores that this process's launcher announces, against those that it has. Started by
// a launcher that MPI does not understand, each process would be a run of its own; bound to a core, all its
// threads would share it.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trainer/ranks/control_plane.h"

namespace bicrl {

// Processes that were started together, as the environment says.
struct AnnouncedTasks {
  std::string launcher;  // for a person: "srun"
  std::string variable;  // that says so
  int64_t count = 1;     // at least
};

using Environment = std::function<const char*(const char* variable)>;

// By the innermost launcher; nothing if none says how many there are.
std::optional<AnnouncedTasks> announced_tasks(const Environment& environment);

// Throws InputError if this process is alone for MPI (or uses none) and one of several for its launcher.
// `what`: who is alone, for the message.
void expect_announced_ranks(const std::string& what, int ranks);

// Cores that this process may use, and those of the process that started it.
struct CoreBinding {
  int cores = 1;
  int of_launcher = 1;
  static CoreBinding of_this_process();
};

// For a person; empty: the rank has as many cores as it has threads, and of its launcher's as many as its
// share.
std::string binding_problem(const CoreBinding& binding, int64_t threads, int ranks_on_host, bool launched);

// Collective: rank 0 logs what is wrong with the binding of any rank.
void report_bindings(ControlPlane& control, int64_t threads);

}  // namespace bicrl
