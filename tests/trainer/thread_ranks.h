// Ranks as threads of one process, for what is collective but needs no MPI.
#pragma once
#include <algorithm>
#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "trainer/ranks/communicator.h"

namespace bicrl::testing {

struct Meeting {
  explicit Meeting(int ranks) : parts(static_cast<size_t>(ranks)), values(parts.size()), line(ranks) {}
  std::vector<std::string> parts;
  std::vector<std::vector<double>> values;
  std::barrier<> line;
};

class ThreadRank : public SingleProcessCommunicator {
 public:
  ThreadRank(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.parts.size()); }
  void barrier() override { meeting_.line.arrive_and_wait(); }
  void all_reduce(std::vector<double>& values, Reduction reduction) override {
    meeting_.values[static_cast<size_t>(rank_)] = values;
    barrier();
    values = meeting_.values.front();
    for (size_t rank = 1; rank < meeting_.values.size(); ++rank)
      for (size_t i = 0; i < values.size(); ++i) {
        const double other = meeting_.values[rank][i];
        values[i] = reduction == Reduction::kSum ? values[i] + other : std::max(values[i], other);
      }
    barrier();
  }
  std::vector<std::string> all_gather(const std::string& bytes) override {
    meeting_.parts[static_cast<size_t>(rank_)] = bytes;
    barrier();
    auto all = meeting_.parts;
    barrier();
    return all;
  }

 private:
  Meeting& meeting_;
  int rank_;
};

inline void on_ranks(int ranks, const std::function<void(Communicator&)>& work) {
  Meeting meeting(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank communicator(meeting, rank);
      work(communicator);
    });
}

}  // namespace bicrl::testing
