// Greetings of ranks before they enter a collective operation, so that ranks which have parted throw, and
// those that do not come are known by name. A greeting goes from each rank directly to each of its peers. Not
// thread-safe.
#pragma once
#include <ATen/core/Tensor.h>
#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bicrl {

struct MpiLink {
  MPI_Comm communicator = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int64_t sequence = 0;  // the operation's number, the same on all ranks
};

// Of one operation. Until it is over, MPI may write into it: it keeps its place in memory.
class MpiGreeting {
 public:
  // `like` has the type and size of what is exchanged and is contiguous; `what` names the buffer.
  MpiGreeting(const MpiLink& link, const std::string& operation, const std::string& what,
              const at::Tensor& like);
  MpiGreeting(const MpiGreeting&) = delete;
  MpiGreeting& operator=(const MpiGreeting&) = delete;

  // Whom to greet, before the first advance().
  void expect(int peer);
  void expect_all();

  // Does what can be done without waiting; returns the peers that have come since the last time. Throws Error
  // that names both operations if a peer is in another one, or on a fault of MPI.
  std::vector<int> advance();
  bool over() const { return over_; }  // all have come, and ours have left

  std::string text() const { return mine_.text(); }  // the operation with its buffer and size
  std::vector<int> absent() const;
  bool came(int peer) const { return peers_[static_cast<size_t>(peer)].came; }
  bool expects(int peer) const { return peers_[static_cast<size_t>(peer)].expected; }

 private:
  struct Record {
    int64_t sequence = 0;
    int64_t elements = 0;
    int32_t type = 0;
    char operation[28] = {};
    char what[88] = {};
    bool operator==(const Record& o) const;
    std::string text() const;
  };
  struct Peer {
    bool expected = false;
    bool came = false;
    Record theirs;
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
  };
  void greet();

  MpiLink link_;
  Record mine_;
  std::vector<Peer> peers_;
  bool greeted_ = false;
  bool over_ = false;
};

}  // namespace bicrl
