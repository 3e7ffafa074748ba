// Control plane of the ranks, by which they agree: small records of all ranks, in rank order. Every method is
// collective: all ranks call it, in the same order and from the same place. Sums are taken in rank order and
// come out bit-equal on all ranks. A wait has a limit; a rank that reaches it throws an Error that says where
// it waited and for which ranks. Not thread-safe: one thread per rank calls it.
//
// How this folder works: ranks agree through the control plane and move tensors through the tensor plane
// (tensor_plane.h). Under mpirun both are MPI's (mpi_session.h, mpi_control_plane.h, mpi_tensor_plane.h);
// a run of one rank has SingleProcessControl and SingleProcessTensors. Where operations are not compared
// before they begin, entered_operations.h does it afterwards. Beside both planes, heartbeat.h (over
// line_socket.h) notices ranks that are gone.
#pragma once
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/error.h"

namespace bicrl {

enum class Reduction { kSum, kMax };

class ControlPlane {
 public:
  // Ranks may be at work by themselves for long (they generate, they wait for verdicts).
  static constexpr double kWaitLimit_s = 3600;
  using Place = std::source_location;

  virtual ~ControlPlane() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Among the ranks of this host: which of the host's GPUs a rank takes.
  virtual int local_rank() const = 0;
  virtual int hosts() const = 0;
  virtual int ranks_on_host() const = 0;  // this one's, itself included

  // The byte strings of all ranks in rank order.
  std::vector<std::string> all_gather(const std::string& bytes, const Place& place = Place::current());
  // What each rank has for this one, in rank order; `for_ranks` is what this one has for each.
  std::vector<std::string> all_to_all(const std::vector<std::string>& for_ranks,
                                      const Place& place = Place::current());
  void all_reduce(std::vector<double>& values, Reduction reduction, const Place& place = Place::current());
  void barrier(const Place& place = Place::current());

  void set_wait_limit(double seconds) { wait_limit_s_ = seconds; }
  double wait_limit_s() const { return wait_limit_s_; }
  // Called again and again while a call here waits for other ranks, for what has to come forward meanwhile:
  // a tensor plane whose ranks ask each other what they are in. It may throw Error.
  void set_while_waiting(std::function<void()> work) { while_waiting_ = std::move(work); }

 protected:
  void work_while_waiting() const {
    if (while_waiting_) while_waiting_();
  }

 private:
  // `place` is a file's name and line.
  virtual std::vector<std::string> exchange(const std::string& bytes, const std::string& place) = 0;
  virtual std::vector<std::string> exchange_parts(const std::vector<std::string>& for_ranks,
                                                  const std::string& place) = 0;

  double wait_limit_s_ = kWaitLimit_s;
  std::function<void()> while_waiting_;
};

// "rank 3", "ranks 1, 4".
std::string rank_list(const std::vector<int>& ranks);

// An error that every rank throws with the same message: it is logged once, and nobody is left waiting.
class SharedError : public Error {
 public:
  using Error::Error;
};

// Empty, or what `work` threw: the number of its exit code and the message. For ranks that report errors
// to each other in an exchange of their own.
std::string error_of(const std::function<void()>& work);
// Throws the first of the ranks' errors (by rank, as error_of() gives them) that is not empty as a
// SharedError that names the rank, if there are several.
void throw_first_error(const std::vector<std::string>& errors_by_rank);

// Collective: runs `work` on rank 0; if it throws, all ranks throw a SharedError with its message and
// code.
void on_rank_zero(ControlPlane& control, const std::function<void()>& work,
                  const ControlPlane::Place& place = ControlPlane::Place::current());
// Collective: runs `work` on every rank; if it throws on some, all ranks throw the first one's as a
// SharedError.
void on_all_ranks(ControlPlane& control, const std::function<void()>& work,
                  const ControlPlane::Place& place = ControlPlane::Place::current());
// Collective: whether `here` is true on some rank. Signals and clocks differ between ranks; what they decide
// must not, or some ranks wait for the others for ever.
bool on_any_rank(ControlPlane& control, bool here,
                 const ControlPlane::Place& place = ControlPlane::Place::current());

// Collective: the values of all ranks in rank order, as bytes.
template <class T>
std::vector<T> all_gather_values(ControlPlane& control, const T& mine,
                                 const ControlPlane::Place& place = ControlPlane::Place::current()) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all;
  for (const std::string& bytes :
       control.all_gather({reinterpret_cast<const char*>(&mine), sizeof mine}, place))
    memcpy(&all.emplace_back(), bytes.data(), sizeof(T));
  return all;
}

// Collective: the lists of all ranks in rank order, as bytes.
template <class T>
std::vector<std::vector<T>> all_gather_lists(
    ControlPlane& control, const std::vector<T>& mine,
    const ControlPlane::Place& place = ControlPlane::Place::current()) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<std::vector<T>> all;
  for (const std::string& bytes :
       control.all_gather({reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(T)}, place)) {
    auto& list = all.emplace_back(bytes.size() / sizeof(T));
    memcpy(list.data(), bytes.data(), list.size() * sizeof(T));
  }
  return all;
}

// Collective: ranks that would work on different content (an older copy of a file on another host) meet in
// collectives that do not belong together. If some rank's `content` differs from the first rank's, all
// throw a SharedError of exit code kUsage that names `what` and the rank.
void expect_equal_on_ranks(ControlPlane& control, const std::string& what, const std::string& content,
                           const ControlPlane::Place& place = ControlPlane::Place::current());

// Throws InputError, on every rank, if ranks run on several hosts: an embedded verifier is reached on its own
// host only.
void require_one_host(const ControlPlane& control);

// The control plane of a run with one rank.
class SingleProcessControl : public ControlPlane {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int ranks_on_host() const override { return 1; }
  int hosts() const override { return 1; }

 private:
  std::vector<std::string> exchange(const std::string& bytes, const std::string&) override { return {bytes}; }
  std::vector<std::string> exchange_parts(const std::vector<std::string>& for_ranks,
                                          const std::string&) override {
    return for_ranks;
  }
};

}  // namespace bicrl
