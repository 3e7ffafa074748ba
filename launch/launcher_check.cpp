#include "launch/launcher_check.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "common/error.h"
#include "common/log.h"
#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl {
namespace {

struct Announcement {
  const char* variable;
  const char* launcher;
  bool is_rank = false;  // of the process: there is one more at least
};

// The first that is set counts: mpirun within a job of Slurm is nearer than srun.
constexpr Announcement kAnnouncements[] = {{"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"},
                                           {"PMI_SIZE", "a launcher of MPICH's kind (PMI)"},
                                           {"MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun"},
                                           {"SLURM_STEP_NUM_TASKS", "srun"},
                                           {"FLUX_JOB_SIZE", "flux run"},
                                           {"PMIX_RANK", "a launcher with PMIx", /*is_rank=*/true}};

int cores_of(pid_t process) {
  cpu_set_t cores;
  return sched_getaffinity(process, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

}  // namespace

std::optional<AnnouncedTasks> announced_tasks(const Environment& environment) {
  for (const Announcement& one : kAnnouncements) {
    const char* text = environment(one.variable);
    if (!text) continue;
    const std::string_view digits = text;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number < 0) continue;
    return AnnouncedTasks{one.launcher, one.variable, one.is_rank ? number + 1 : number};
  }
  return std::nullopt;
}

void expect_announced_ranks(const std::string& what, int ranks) {
  const auto announced = announced_tasks([](const char* variable) { return getenv(variable); });
  if (ranks > 1 || !announced || announced->count <= 1) return;
  throw InputError(
      concat(announced->launcher, " started several tasks (", announced->variable, "=",
             getenv(announced->variable.c_str()), "), and ", what,
             ": each of them would do all of the work by itself. Start it with `mpirun -np N`, or with a "
             "launcher that this MPI understands (`srun --mpi=pmix`); if one process is meant, take ",
             announced->variable, " out of its environment"));
}

CoreBinding CoreBinding::of_this_process() {
  return {.cores = cores_of(0), .of_launcher = std::max(cores_of(0), cores_of(getppid()))};
}

std::string binding_problem(const CoreBinding& binding, int64_t threads, int ranks_on_host, bool launched) {
  const char* const kRemedy = ": `mpirun --bind-to none` lets it have more";
  if (binding.cores < threads)
    return concat("is bound to ", binding.cores, " cores, and has ", threads, " threads",
                  launched ? kRemedy : "");
  if (launched && binding.cores < binding.of_launcher / ranks_on_host)
    return concat("is bound to ", binding.cores, " of its launcher's ", binding.of_launcher, " cores, which ",
                  ranks_on_host, ranks_on_host == 1 ? " rank has" : " ranks share",
                  "; weights are drawn and read, and candidates verified, on these alone", kRemedy);
  return "";
}

void report_bindings(ControlPlane& control, int64_t threads) {
  const auto problems = control.all_gather(binding_problem(
      CoreBinding::of_this_process(), threads, control.ranks_on_host(), MpiSession::launched_by_mpi()));
  if (control.rank() != 0) return;
  const auto first = std::ranges::find_if(problems, [](const std::string& one) { return !one.empty(); });
  if (first == problems.end()) return;
  const auto others =
      std::ranges::count_if(problems, [](const std::string& one) { return !one.empty(); }) - 1;
  log_warning("rank ", first - problems.begin(), " ", *first,
              others > 0 ? concat(" (so are ", others, " others)") : "");
}

}  // namespace bicrl
