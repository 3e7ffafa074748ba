#include "tests/trainer/ranks/mpi_ranks.h"

#include <stdlib.h>

#include "common/files/files.h"
#include "tests/support/support.h"

namespace bicrl::testing {

RanksEnd run_on_mpi_ranks(int ranks, const std::string& tag, const std::string& environment) {
  const TemporaryFolder folder;
  const auto log = folder.path() / "log";
  RanksEnd end;
  // Open MPI leaves some kilobytes behind, which a leak check would take for a failure.
  end.command =
      concat("ASAN_OPTIONS=detect_leaks=0 ", environment,
             " timeout 300 mpirun --allow-run-as-root --oversubscribe --bind-to none -np ", ranks, " '",
             (program_folder() / "test_trainer").string(), "' '", tag, "' >'", log.string(), "' 2>&1");
  end.status = system(end.command.c_str());
  end.output = read_file(log);
  return end;
}

}  // namespace bicrl::testing
