// Ranks over MPI. Tensors on a device are staged through host memory.
#pragma once
#include <memory>
#include <string>

#include "trainer/ranks/communicator.h"

namespace bicrl {

// Owns MPI's lifetime: the first thing a program with ranks makes, the last it destroys. Only the thread that
// made it may use MPI.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  // True where mpirun (or Slurm's PMI) started this process; false for a program started by hand.
  static bool launched_by_mpi();
  static std::string library_version();  // for example "Open MPI v4.1.4, ..."; needs no session
  [[noreturn]] static void abort(
      int exit_code);  // ends all ranks: for a fault that others would wait for for ever
};

// All ranks of the session, which must outlive it. MPI faults throw Error.
class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(const MpiSession& session);
  ~MpiCommunicator() override;
  int rank() const override;
  int size() const override;
  int local_rank() const override;
  int hosts() const override;
  int ranks_on_host() const override;
  void all_reduce_sum(at::Tensor& tensor) override;
  void broadcast(at::Tensor& tensor, int root) override;
  void all_reduce(std::vector<double>& values, Reduction reduction) override;
  std::vector<std::string> all_gather(const std::string& bytes) override;
  void barrier() override;
  // For a rank that gives up: whether all others give up as well within `seconds`. Apart from every other
  // operation, so that ranks which wait in one of those are no harm. At most once in a session.
  bool all_give_up(double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bicrl
