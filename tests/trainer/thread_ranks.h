// Ranks as threads of one process, for what is collective but needs no MPI. To be included before Catch2, as
// it brings torch.
#pragma once
#include <ATen/ATen.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "trainer/ranks/communicator.h"

namespace bicrl::testing {

// Where ranks leave what they exchange.
struct Meeting {
  explicit Meeting(int ranks, int ranks_per_host)
      : ranks_per_host(ranks_per_host),
        parts(static_cast<size_t>(ranks)),
        values(parts.size()),
        tensors(parts.size()),
        line(ranks) {}
  int ranks_per_host;
  std::vector<std::string> parts;
  std::vector<std::vector<double>> values;
  std::vector<at::Tensor> tensors;
  std::barrier<> line;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.parts.size()); }
  int local_rank() const override { return rank_ % meeting_.ranks_per_host; }
  int ranks_on_host() const override {
    const int first = rank_ - local_rank();
    return std::min(meeting_.ranks_per_host, size() - first);
  }
  int hosts() const override { return (size() + meeting_.ranks_per_host - 1) / meeting_.ranks_per_host; }
  int64_t collectives() const { return collectives_; }  // so far, without those on tensors

  void barrier() override {
    ++collectives_;
    meet();
  }
  // Every rank adds in the order of ranks, so that sums are bit-equal.
  void all_reduce_sum(at::Tensor& tensor) override {
    mine(meeting_.tensors) = tensor.clone();
    meet();
    at::Tensor sum = meeting_.tensors.front().clone();
    for (size_t rank = 1; rank < meeting_.tensors.size(); ++rank) sum.add_(meeting_.tensors[rank]);
    tensor.copy_(sum);
    meet();
  }
  void broadcast(at::Tensor& tensor, int root) override {
    mine(meeting_.tensors) = tensor.clone();
    meet();
    tensor.copy_(meeting_.tensors[static_cast<size_t>(root)]);
    meet();
  }
  void all_reduce(std::vector<double>& values, Reduction reduction) override {
    ++collectives_;
    mine(meeting_.values) = values;
    meet();
    values = meeting_.values.front();
    for (size_t rank = 1; rank < meeting_.values.size(); ++rank)
      for (size_t i = 0; i < values.size(); ++i) {
        const double other = meeting_.values[rank][i];
        values[i] = reduction == Reduction::kSum ? values[i] + other : std::max(values[i], other);
      }
    meet();
  }
  std::vector<std::string> all_gather(const std::string& bytes) override {
    ++collectives_;
    mine(meeting_.parts) = bytes;
    meet();
    auto all = meeting_.parts;
    meet();
    return all;
  }

 private:
  void meet() { meeting_.line.arrive_and_wait(); }
  template <class T>
  T& mine(std::vector<T>& slots) const {
    return slots[static_cast<size_t>(rank_)];
  }

  Meeting& meeting_;
  int rank_;
  int64_t collectives_ = 0;
};

// Runs `work` on so many ranks and returns the number of collectives that one of them took part in. The first
// exception ends the program, as other ranks would wait for ever.
inline int64_t on_ranks(int ranks, const std::function<void(Communicator&)>& work,
                        int ranks_per_host = 1000) {
  Meeting meeting(ranks, ranks_per_host);
  int64_t collectives = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadRank communicator(meeting, rank);
        work(communicator);
        if (rank == 0) collectives = communicator.collectives();
      });
  }
  return collectives;
}

}  // namespace bicrl::testing
