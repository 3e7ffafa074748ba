// Inquiry over MPI by a rank that has waited long in an operation: which ranks have entered it. Ranks send
// each other the operations that they have entered. So those that have diverged are found while the operation
// hangs, and those that do not come are known. A rank answers whenever it advances: at once if it has entered
// the operation, else as soon as it does. Not thread-safe.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/ranks/entered_operations.h"

namespace bicrl {

// Of all ranks of a communicator, which must outlive it and has no other use.
class MpiInquiry {
 public:
  explicit MpiInquiry(MPI_Comm communicator);
  ~MpiInquiry();
  MpiInquiry(const MpiInquiry&) = delete;
  MpiInquiry& operator=(const MpiInquiry&) = delete;

  // Asks all other ranks whether they have entered operation `number`, which this one has. Answers to an
  // earlier question count no longer.
  void ask(int64_t number, const EnteredOperations& entered);
  bool has_asked(int64_t number) const { return asked_ == number; }
  // Receives and answers what has come, without waiting. Returns how the operations of a rank differ from
  // this rank's (difference() of entered_operations.h), or "".
  std::string advance(const EnteredOperations& entered);
  // The ranks that have not entered what was asked for, as far as they have answered.
  std::vector<int> absent() const;

 private:
  void send(int to, int tag, int64_t number, const EnteredOperations& entered);
  // From any rank: sender, number, and what it has entered.
  struct Message;
  std::optional<Message> receive(int tag);
  void forget_what_has_left();

  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  int64_t asked_ = -1;
  std::vector<bool> came_;          // by rank: has entered what was asked for
  std::vector<int64_t> to_answer_;  // by rank: what it asks for and this rank has not entered yet, or -1
  std::deque<std::pair<MPI_Request, std::shared_ptr<const std::string>>> sent_;  // MPI may still read them
};

}  // namespace bicrl
