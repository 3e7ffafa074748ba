// How ranks talk: sums, broadcasts and gathers of a data-parallel run. Every method is collective: all ranks
// call it, in the same order. Sums come out bit-equal on all ranks. Not thread-safe: one thread per rank
// calls it.
//
// How this folder works: everything in trainer/ and launch/ talks through this interface;
// mpi_communicator.h is the one of a run under mpirun, SingleProcessCommunicator that of a run without.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/error.h"

namespace bicrl {

enum class Reduction { kSum, kMax };

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Among the ranks of this host: which of the host's GPUs a rank takes.
  virtual int local_rank() const = 0;
  virtual int hosts() const = 0;
  virtual int ranks_on_host() const = 0;  // this one's, itself included
  // In place. The tensor must be fp32, fp64 or int64 and contiguous, on any device, equally shaped on all
  // ranks.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;
  // In place, from rank `root`. Any type and device, contiguous.
  virtual void broadcast(at::Tensor& tensor, int root = 0) = 0;
  virtual void all_reduce(std::vector<double>& values, Reduction reduction) = 0;
  // The byte strings of all ranks in rank order.
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  virtual void barrier() = 0;
};

// An error that every rank throws with the same message: it is told once, and nobody is left waiting.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Empty, or what `work` threw: the number of its exit code and the message. For ranks that tell each other of
// errors in an exchange of their own.
std::string error_of(const std::function<void()>& work);
// Throws the first of the ranks' errors (by rank, as error_of() gives them) that is not empty as a
// SharedError that names the rank, if there are several.
void throw_first_error(const std::vector<std::string>& errors_by_rank);

// Collective: runs `work` on rank 0; if it throws, all ranks throw a SharedError with its message and
// code.
void on_rank_zero(Communicator& communicator, const std::function<void()>& work);
// Collective: whether `here` is true on some rank. Signals and clocks differ between ranks; what they decide
// must not, or some ranks wait for the others for ever.
bool on_any_rank(Communicator& communicator, bool here);

// Collective: the values of all ranks in rank order, as bytes.
template <class T>
std::vector<T> all_gather_values(Communicator& communicator, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const std::string& bytes :
       communicator.all_gather({reinterpret_cast<const char*>(&mine), sizeof mine}))
    memcpy(&all.emplace_back(), bytes.data(), sizeof(T));
  return all;
}

// Collective: ranks that would work on different content (an older copy of a file on another host) meet in
// collectives that do not belong together. If some rank's `content` differs from the first rank's, all
// throw a SharedError of exit code kUsage that names `what` and the rank.
void expect_equal_on_ranks(Communicator& communicator, const std::string& what, const std::string& content);

// Throws InputError, on every rank, if ranks run on several hosts: an embedded verifier is reached on its own
// host only.
void require_one_host(const Communicator& communicator);

// The communicator of a run with one rank.
class SingleProcessCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int ranks_on_host() const override { return 1; }
  int hosts() const override { return 1; }
  void all_reduce_sum(at::Tensor&) override {}
  void broadcast(at::Tensor&, int) override {}
  void all_reduce(std::vector<double>&, Reduction) override {}
  std::vector<std::string> all_gather(const std::string& bytes) override { return {bytes}; }
  void barrier() override {}
};

}  // namespace bicrl
