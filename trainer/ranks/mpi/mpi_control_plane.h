// The control plane over MPI. Ranks send their records to rank 0, which knows who is missing, and answers
// everybody: with the records of all, with what they hold for each rank alone, or with why there are none.
#pragma once
#include <memory>
#include <string>

#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/mpi/mpi_session.h"

namespace bicrl {

// All ranks of the session, which must outlive it, or the first `ranks` of them, which alone make it then and
// have the same numbers in it. MPI faults throw Error.
class MpiControlPlane : public ControlPlane {
 public:
  explicit MpiControlPlane(const MpiSession& session, int ranks = MpiSession::kAllRanks);
  ~MpiControlPlane() override;
  int rank() const override;
  int size() const override;
  int local_rank() const override;
  int hosts() const override;
  int ranks_on_host() const override;
  // For a rank that gives up: whether all others give up as well within `seconds`. Apart from every other
  // operation, so that ranks which wait in one of those are no harm. At most once in a session.
  bool all_give_up(double seconds);

 private:
  std::vector<std::string> exchange(const std::string& bytes, const std::string& place) override;
  std::vector<std::string> exchange_parts(const std::vector<std::string>& for_ranks,
                                          const std::string& place) override;
  // Rank 0: the records of all ranks. Whoever has called it answers the others.
  std::vector<std::string> collect(const std::string& bytes, const std::string& place);
  void answer(int to, const std::shared_ptr<const std::string>& reply);
  std::vector<std::string> ask(const std::string& bytes, const std::string& place);  // the others
  [[noreturn]] void give_up(const std::string& reason);  // rank 0: notifies the others, then throws

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bicrl
