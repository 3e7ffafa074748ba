#include "trainer/ranks/mpi/mpi_operation.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/error.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/mpi/mpi_session.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl {
namespace {

// MPI counts are ints; larger messages go in pieces.
constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr int kFirstDataTag = 2;  // 1 is the greeting's
// Tags are reused after so many operations, which are never under way at the same time. MPI has at least
// 32767 tags.
constexpr int64_t kTags = 8192;

// Greets the peers, then exchanges parts with them in one or two rounds.
class Exchange : public MpiOperation {
 public:
  Exchange(MpiLink link, const std::string& operation, const std::string& what, const at::Tensor& like)
      : link_(link), greeting_(link, operation, what, like), parts_(static_cast<size_t>(link.size)) {}

  bool advance() override {
    if (done_) return true;
    for (const int peer : greeting_.advance()) exchange_parts(peer);
    if (!parts_are_through() || !greeting_.over()) return false;
    done_ = next_round();
    return done_;
  }
  bool done() const override { return done_; }

  std::string what_it_waits_for() const override {
    std::vector<int> slow;
    for (int p = 0; p < link_.size; ++p)
      if (!parts_[static_cast<size_t>(p)].empty()) slow.push_back(p);
    std::string text = greeting_.text();
    const std::vector<int> absent = greeting_.absent();
    if (!absent.empty()) text += concat(" for ", rank_list(absent), ", which did not come");
    if (!slow.empty()) text += concat(" for ", rank_list(slow), ", which came but did not finish");
    return text;
  }

 protected:
  // To be called by constructors: with whom parts are exchanged.
  void take_part(int peer) { greeting_.expect(peer); }
  void take_part_with_all() { greeting_.expect_all(); }
  // Posts the first round's parts to and from a peer that has come.
  virtual void exchange_parts(int peer) = 0;
  // All posted parts are through: posts another round and returns false, or finishes and returns true.
  virtual bool next_round() = 0;

  void send(int peer, const at::Tensor& part, int round) { post(peer, part, round, /*sends=*/true); }
  void receive(int peer, const at::Tensor& part, int round) { post(peer, part, round, /*sends=*/false); }

  MpiLink link_;

 private:
  void post(int peer, const at::Tensor& part, int round, bool sends) {
    auto* bytes = static_cast<char*>(part.data_ptr());
    const int tag = kFirstDataTag + static_cast<int>(link_.sequence % kTags) * 2 + round;
    const auto total = static_cast<int64_t>(part.nbytes());
    for (int64_t begin = 0; begin < total; begin += kMaxBytes) {
      const auto count = static_cast<int>(std::min(kMaxBytes, total - begin));
      MPI_Request& request = parts_[static_cast<size_t>(peer)].emplace_back(MPI_REQUEST_NULL);
      check_mpi(sends ? MPI_Isend(bytes + begin, count, MPI_BYTE, peer, tag, link_.communicator, &request)
                      : MPI_Irecv(bytes + begin, count, MPI_BYTE, peer, tag, link_.communicator, &request),
                sends ? "MPI_Isend" : "MPI_Irecv");
    }
  }

  bool parts_are_through() {
    bool all = true;
    for (std::vector<MPI_Request>& requests : parts_) {
      if (requests.empty()) continue;
      int through = 0;
      check_mpi(
          MPI_Testall(static_cast<int>(requests.size()), requests.data(), &through, MPI_STATUSES_IGNORE),
          "MPI_Testall");
      if (through) requests.clear();
      all = all && through;
    }
    return all;
  }

  MpiGreeting greeting_;
  std::vector<std::vector<MPI_Request>> parts_;  // by peer, those under way
  bool done_ = false;
};

// A tensor in host memory that stands for one on any device.
struct Staged {
  explicit Staged(at::Tensor tensor) : own(std::move(tensor)), host(own.to(at::kCPU)) {}
  void copy_back() {
    if (!host.is_same(own)) own.copy_(host);
  }
  // The n-th of as many equal parts as there are ranks.
  at::Tensor part(int rank, int ranks) const {
    const int64_t n = host.numel() / ranks;
    return host.narrow(0, rank * n, n);
  }
  at::Tensor own, host;
};

class AllReduce : public Exchange {
 public:
  AllReduce(MpiLink link, at::Tensor tensor, const std::string& what)
      : Exchange(link, "all-reduce", what, tensor), tensor_(tensor.view({-1})) {
    require_summable(tensor);
    take_part_with_all();
    for (int p = 0; p < link.size; ++p)
      came_.push_back(p == link.rank ? at::Tensor() : at::empty_like(part(link.rank)));
  }

 private:
  at::Tensor part(int rank) const {
    const int64_t n = tensor_.host.numel(), step = (n + link_.size - 1) / link_.size;
    const int64_t begin = std::min(n, rank * step);
    return tensor_.host.narrow(0, begin, std::min(step, n - begin));
  }
  void exchange_parts(int peer) override {
    send(peer, part(peer), 0);
    receive(peer, came_[static_cast<size_t>(peer)], 0);
  }
  bool next_round() override {
    if (summed_) {
      tensor_.copy_back();
      return true;
    }
    at::Tensor mine = part(link_.rank);
    came_[static_cast<size_t>(link_.rank)] = link_.rank == 0 ? mine : mine.clone();
    for (int p = 0; p < link_.size; ++p) {
      const at::Tensor& other = came_[static_cast<size_t>(p)];
      if (p > 0)
        mine.add_(other);
      else if (link_.rank > 0)
        mine.copy_(other);
    }
    came_.clear();
    summed_ = true;
    for (int p = 0; p < link_.size; ++p) {
      if (p == link_.rank) continue;
      send(p, mine, 1);
      receive(p, part(p), 1);
    }
    return link_.size == 1;
  }

  Staged tensor_;
  std::vector<at::Tensor> came_;  // by rank, the parts that are summed here
  bool summed_ = false;
};

class ReduceScatter : public Exchange {
 public:
  ReduceScatter(MpiLink link, at::Tensor whole, at::Tensor mine, const std::string& what)
      : Exchange(link, "reduce-scatter", what, whole), whole_(whole.view({-1})), mine_(std::move(mine)) {
    require_summable(whole);
    BICRL_CHECK(mine_.own.is_contiguous() && mine_.own.numel() * link.size == whole.numel() &&
                    mine_.own.scalar_type() == whole.scalar_type(),
                what, ": ", mine_.own.numel(), " of ", whole.numel(), " elements for ", link.size, " ranks");
    take_part_with_all();
    for (int p = 0; p < link.size; ++p) came_.push_back(p == link.rank ? part(p) : at::empty_like(part(p)));
  }

 private:
  at::Tensor part(int rank) const { return whole_.part(rank, link_.size); }
  void exchange_parts(int peer) override {
    send(peer, part(peer), 0);
    receive(peer, came_[static_cast<size_t>(peer)], 0);
  }
  bool next_round() override {
    at::Tensor sum = came_.front().clone();  // `mine` may be a part of what is added
    for (size_t p = 1; p < came_.size(); ++p) sum.add_(came_[p]);
    mine_.own.view({-1}).copy_(sum);
    came_.clear();
    return true;
  }

  Staged whole_, mine_;
  std::vector<at::Tensor> came_;
};

class AllGather : public Exchange {
 public:
  AllGather(MpiLink link, at::Tensor mine, at::Tensor whole, const std::string& what)
      : Exchange(link, "all-gather", what, mine), whole_(whole.view({-1})) {
    BICRL_CHECK(whole.is_contiguous() && mine.numel() * link.size == whole.numel() &&
                    mine.scalar_type() == whole.scalar_type(),
                what, ": ", mine.numel(), " of ", whole.numel(), " elements for ", link.size, " ranks");
    const at::Tensor own = part(link.rank);
    if (own.data_ptr() != mine.data_ptr()) own.copy_(mine.view({-1}));
    take_part_with_all();
  }

 private:
  at::Tensor part(int rank) const { return whole_.part(rank, link_.size); }
  void exchange_parts(int peer) override {
    send(peer, part(link_.rank), 0);
    receive(peer, part(peer), 0);
  }
  bool next_round() override {
    whole_.copy_back();
    return true;
  }

  Staged whole_;
};

class Broadcast : public Exchange {
 public:
  Broadcast(MpiLink link, at::Tensor tensor, int root, const std::string& what)
      : Exchange(link, concat("broadcast from rank ", root), what, tensor),
        tensor_(tensor.view({-1})),
        root_(root) {
    if (link.rank == root)
      take_part_with_all();
    else
      take_part(root);
  }

 private:
  void exchange_parts(int peer) override {
    if (link_.rank == root_)
      send(peer, tensor_.host, 0);
    else
      receive(peer, tensor_.host, 0);
  }
  bool next_round() override {
    if (link_.rank != root_) tensor_.copy_back();
    return true;
  }

  Staged tensor_;
  int root_;
};

}  // namespace

std::unique_ptr<MpiOperation> make_all_reduce(MpiLink link, at::Tensor tensor, std::string what) {
  return std::make_unique<AllReduce>(link, std::move(tensor), what);
}

std::unique_ptr<MpiOperation> make_reduce_scatter(MpiLink link, at::Tensor whole, at::Tensor mine,
                                                  std::string what) {
  return std::make_unique<ReduceScatter>(link, std::move(whole), std::move(mine), what);
}

std::unique_ptr<MpiOperation> make_all_gather(MpiLink link, at::Tensor mine, at::Tensor whole,
                                              std::string what) {
  return std::make_unique<AllGather>(link, std::move(mine), std::move(whole), what);
}

std::unique_ptr<MpiOperation> make_broadcast(MpiLink link, at::Tensor tensor, int root, std::string what) {
  return std::make_unique<Broadcast>(link, std::move(tensor), root, what);
}

}  // namespace bicrl
