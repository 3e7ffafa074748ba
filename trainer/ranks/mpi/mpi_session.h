// MPI's lifetime in this process.
#pragma once
#include <string>

namespace bicrl {

// Owns MPI: the first thing a program with ranks makes, the last it destroys. Calls of MPI must not overlap.
class MpiSession {
 public:
  static constexpr int kAllRanks = -1;  // where planes ask for a number of ranks

  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  // True where mpirun (or Slurm's PMI) started this process; false for a program started by hand.
  static bool launched_by_mpi();
  static std::string library_version();  // for example "Open MPI v4.1.4, ..."; needs no session
  // Ends all ranks: for a fault that others would wait for for ever.
  [[noreturn]] static void abort(int exit_code);
};

// For the files that call MPI: throws Error with MPI's own text unless `code` is success.
void check_mpi(int code, const char* operation);

}  // namespace bicrl
