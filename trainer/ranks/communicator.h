// How ranks talk: sums, broadcasts and gathers of a data-parallel run. Every method is collective: all ranks
// call it, in the same order. Sums come out bit-equal on all ranks. Not thread-safe: one thread per rank
// calls it.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <vector>

#include "common/error.h"

namespace bicrl {

enum class Reduction { kSum, kMax };

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // In place. The tensor must be fp32, fp64 or int64 and contiguous, on any device, equally shaped on all
  // ranks.
  virtual void all_reduce_sum(at::Tensor& tensor) = 0;
  // In place, from rank `root`. Any type and device, contiguous.
  virtual void broadcast(at::Tensor& tensor, int root = 0) = 0;
  virtual void all_reduce(std::vector<double>& values, Reduction reduction) = 0;
  // The byte strings of all ranks in rank order; on other ranks than 0 empty.
  virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  virtual std::vector<std::string> all_gather(const std::string& bytes) = 0;
  virtual void barrier() = 0;
};

// An error that every rank throws with the same message: it is told once, and nobody is left waiting.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Collective: runs `work` on rank 0; where it throws, all ranks throw a SharedError with its message and
// code.
void on_rank_zero(Communicator& communicator, const std::function<void()>& work);
// Collective: runs `work`, which must not be collective, on every rank; where it throws on some, all throw a
// SharedError as above, with the name of the lowest such rank.
void on_every_rank(Communicator& communicator, const std::function<void()>& work);

// Collective: whether `here` is true on some rank. Signals and clocks differ between ranks; what they decide
// must not, or some ranks wait for the others for ever.
bool on_any_rank(Communicator& communicator, bool here);

// Collective: ranks that would work on different content (an older copy of a file on another host) meet in
// collectives that do not belong together. Where some rank's `content` differs from the first rank's, all
// throw a SharedError of exit code kUsage that names `what` and the rank.
void expect_equal_on_ranks(Communicator& communicator, const std::string& what, const std::string& content);

// The communicator of a run with one rank.
class SingleProcessCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce_sum(at::Tensor&) override {}
  void broadcast(at::Tensor&, int) override {}
  void all_reduce(std::vector<double>&, Reduction) override {}
  std::vector<std::string> gather(const std::string& bytes) override { return {bytes}; }
  std::vector<std::string> all_gather(const std::string& bytes) override { return {bytes}; }
  void barrier() override {}
};

}  // namespace bicrl
