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

#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/ranks/tensor_plane.h"

namespace bicrl::testing {

// Where ranks leave what they exchange.
struct Exchange {
  explicit Exchange(int ranks, int ranks_per_host)
      : ranks_per_host(ranks_per_host),
        parts(static_cast<size_t>(ranks)),
        parts_for_ranks(parts.size()),
        tensors(parts.size()),
        line(ranks) {}
  int ranks_per_host;
  std::vector<std::string> parts;
  std::vector<std::vector<std::string>> parts_for_ranks;  // by sender
  std::vector<at::Tensor> tensors;
  std::barrier<> line;
};

class ThreadControl : public ControlPlane {
 public:
  ThreadControl(Exchange& exchange, int rank) : exchange_(exchange), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(exchange_.parts.size()); }
  int local_rank() const override { return rank_ % exchange_.ranks_per_host; }
  int ranks_on_host() const override {
    const int first = rank_ - local_rank();
    return std::min(exchange_.ranks_per_host, size() - first);
  }
  int hosts() const override { return (size() + exchange_.ranks_per_host - 1) / exchange_.ranks_per_host; }
  int64_t exchanges() const { return exchanges_; }  // so far

 private:
  std::vector<std::string> exchange(const std::string& bytes, const std::string&) override {
    ++exchanges_;
    exchange_.parts[static_cast<size_t>(rank_)] = bytes;
    exchange_.line.arrive_and_wait();
    auto all = exchange_.parts;
    exchange_.line.arrive_and_wait();
    return all;
  }

  std::vector<std::string> exchange_parts(const std::vector<std::string>& for_ranks,
                                          const std::string&) override {
    ++exchanges_;
    exchange_.parts_for_ranks[static_cast<size_t>(rank_)] = for_ranks;
    exchange_.line.arrive_and_wait();
    std::vector<std::string> mine;
    for (const auto& parts : exchange_.parts_for_ranks) mine.push_back(parts[static_cast<size_t>(rank_)]);
    exchange_.line.arrive_and_wait();
    return mine;
  }

  Exchange& exchange_;
  int rank_;
  int64_t exchanges_ = 0;
};

// Operations are over when they return. They are not compared before they begin.
class ThreadTensors : public TensorPlane {
 public:
  ThreadTensors(Exchange& exchange, int rank) : exchange_(exchange), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(exchange_.tensors.size()); }

  const EnteredOperations* entered() const override { return &entered_; }

  Transfer all_reduce(at::Tensor tensor, const std::string& what) override {
    entered_.enter("all-reduce", what, tensor);
    meet_with(
        tensor, [&] { return sum(); }, tensor);
    return {};
  }
  Transfer reduce_scatter(at::Tensor whole, at::Tensor mine, const std::string& what) override {
    entered_.enter("reduce-scatter", what, whole);
    meet_with(
        whole, [&] { return sum().narrow(0, rank_ * mine.numel(), mine.numel()); }, mine);
    return {};
  }
  Transfer all_gather(at::Tensor mine, at::Tensor whole, const std::string& what) override {
    entered_.enter("all-gather", what, mine);
    meet_with(
        mine, [&] { return at::cat(exchange_.tensors); }, whole);
    return {};
  }
  Transfer broadcast(at::Tensor tensor, int root, const std::string& what) override {
    entered_.enter(concat("broadcast from rank ", root), what, tensor);
    meet_with(
        tensor, [&] { return exchange_.tensors[static_cast<size_t>(root)]; }, tensor);
    return {};
  }

 private:
  // Every rank adds in the order of ranks, so that sums are bit-equal.
  at::Tensor sum() const {
    at::Tensor sum = exchange_.tensors.front().clone();
    for (size_t rank = 1; rank < exchange_.tensors.size(); ++rank) sum.add_(exchange_.tensors[rank]);
    return sum;
  }
  void meet_with(const at::Tensor& given, const std::function<at::Tensor()>& result, const at::Tensor& into) {
    exchange_.tensors[static_cast<size_t>(rank_)] = given.clone();
    exchange_.line.arrive_and_wait();
    into.copy_(result());
    exchange_.line.arrive_and_wait();
  }

  Exchange& exchange_;
  int rank_;
  EnteredOperations entered_;
};

// Runs `work` on so many ranks and returns the number of exchanges that one of them took part in. The first
// exception ends the program, as other ranks would wait for ever.
inline int64_t on_ranks(int ranks, const std::function<void(ControlPlane&, TensorPlane&)>& work,
                        int ranks_per_host = 1000) {
  Exchange exchange(ranks, ranks_per_host);
  int64_t exchanges = 0;
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadControl control(exchange, rank);
        ThreadTensors tensors(exchange, rank);
        work(control, tensors);
        if (rank == 0) exchanges = control.exchanges();
      });
  }
  return exchanges;
}

inline int64_t on_ranks(int ranks, const std::function<void(ControlPlane&)>& work,
                        int ranks_per_host = 1000) {
  return on_ranks(
      ranks, [&](ControlPlane& control, TensorPlane&) { work(control); }, ranks_per_host);
}

}  // namespace bicrl::testing
