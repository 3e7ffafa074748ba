// How ranks talk under mpirun: the hidden case [.planes] runs there; the visible ones start it.
#include "tests/trainer/ranks/mpi_ranks.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <thread>

#include "common/clock.h"
#include "common/error.h"
#include "tests/trainer/ranks/exchanged_values.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/ranks/measured_tensors.h"
#include "trainer/ranks/mpi/mpi_communicator.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/ranks/mpi/mpi_inquiry.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"

using namespace bicrl;
using namespace bicrl::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr double kPatience_s = 1;

at::Tensor sum_in_rank_order(int ranks, int64_t size, at::ScalarType type) {
  at::Tensor sum = values_of(0, size, type);
  for (int rank = 1; rank < ranks; ++rank) sum.add_(values_of(rank, size, type));
  return sum;
}

void check_records(ControlPlane& c) {
  CHECK(c.local_rank() == c.rank());  // one host
  CHECK(c.hosts() == 1);
  CHECK(c.ranks_on_host() == c.size());
  std::vector<double> values{1.0 * c.rank(), -1.0 * c.rank()};
  c.all_reduce(values, Reduction::kMax);
  CHECK(values == std::vector<double>{c.size() - 1.0, 0});
  // Far more than MPI sends at once, less from some, nothing from the first.
  const std::string text(300'000 * static_cast<size_t>(c.rank()), static_cast<char>('a' + c.rank()));
  for (int i = 0; i < 3; ++i) {
    const auto everybody = c.all_gather(text);
    REQUIRE(everybody.size() == static_cast<size_t>(c.size()));
    CHECK(everybody[0].empty());
    for (int rank = 1; rank < c.size(); ++rank) {
      CHECK(everybody[static_cast<size_t>(rank)].size() == 300'000 * static_cast<size_t>(rank));
      CHECK(everybody[static_cast<size_t>(rank)].back() == 'a' + rank);
    }
    CHECK(everybody[static_cast<size_t>(c.rank())] == text);
  }
  c.barrier();
}

// Each rank has something else for each, much of it for the last one and nothing for itself.
void check_parts(ControlPlane& c) {
  const auto part = [&](int from, int to) {
    if (from == to) return std::string();
    const size_t bytes = to == c.size() - 1 ? 400'000 : 3;
    return std::string(bytes, static_cast<char>('a' + from)) + static_cast<char>('a' + to);
  };
  for (int i = 0; i < 3; ++i) {
    std::vector<std::string> for_ranks;
    for (int to = 0; to < c.size(); ++to) for_ranks.push_back(part(c.rank(), to));
    const std::vector<std::string> mine = c.all_to_all(for_ranks);
    REQUIRE(mine.size() == for_ranks.size());
    for (int from = 0; from < c.size(); ++from)
      CHECK((mine[static_cast<size_t>(from)] == part(from, c.rank())));
  }
}

void check_account(TensorPlane& plane) {
  MeasuredTensors t(plane);
  at::Tensor part = at::ones({4}), whole = at::empty({4 * t.size()});
  Transfer early = t.all_gather(part, whole, "whole");
  const CollectiveAccount begun = t.take();
  early.wait();
  at::Tensor sum = at::ones({3}, at::kDouble);
  for (int i = 0; i < 2; ++i) t.all_reduce(sum, "sum").wait();
  CHECK(sum[0].item<double>() == 1.0 * t.size() * t.size());
  const CollectiveAccount account = t.take();
  CHECK(t.take().empty());
  if (t.size() == 1) {
    CHECK(begun.empty());
    CHECK(account.empty());
    return;
  }
  CHECK(begun.at("all_gather").calls == 1);
  CHECK(begun.at("all_gather").bytes == 16 * t.size());
  CHECK(begun.at("all_gather").under_way_s == 0);
  CHECK(account.at("all_gather").calls == 0);
  CHECK(account.at("all_gather").under_way_s >= account.at("all_gather").waited_s);
  CHECK(account.at("all_reduce").calls == 2);
  CHECK(account.at("all_reduce").bytes == 48);
  CHECK(account.at("all_reduce").waited_s > 0);
}

void check_sums(TensorPlane& t) {
  const int ranks = t.size(), rank = t.rank();
  for (const auto type : {at::kFloat, at::kDouble, at::kLong})
    for (const int64_t size :
         {int64_t{1}, int64_t{5}, int64_t{ranks}, int64_t{1000 * ranks + 1}, int64_t{1} << 19}) {
      at::Tensor x = values_of(rank, size, type);
      t.all_reduce(x, "x").wait();
      CHECK(at::equal(x, sum_in_rank_order(ranks, size, type)));
    }
  const int64_t n = 4096;
  const at::Tensor sum = sum_in_rank_order(ranks, n * ranks, at::kFloat);
  at::Tensor whole = values_of(rank, n * ranks, at::kFloat), apart = at::empty({n});
  t.reduce_scatter(whole, apart, "apart").wait();
  CHECK(at::equal(apart, sum.narrow(0, rank * n, n)));
  CHECK(at::equal(whole, values_of(rank, n * ranks, at::kFloat)));
  const at::Tensor within = whole.narrow(0, rank * n, n);
  t.reduce_scatter(whole, within, "within").wait();
  CHECK(at::equal(within, sum.narrow(0, rank * n, n)));

  at::Tensor all = at::zeros({n * ranks}, at::kBFloat16);
  const at::Tensor mine = values_of(rank, n, at::kBFloat16);
  t.all_gather(mine, all, "all").wait();
  for (int other = 0; other < ranks; ++other)
    CHECK(at::equal(all.narrow(0, other * n, n), values_of(other, n, at::kBFloat16)));
  all.narrow(0, rank * n, n).fill_(rank);
  t.all_gather(all.narrow(0, rank * n, n), all, "all").wait();
  for (int other = 0; other < ranks; ++other) CHECK(all.narrow(0, other * n, n).eq(other).all().item<bool>());

  at::Tensor half = at::full({3, 7}, rank, at::kHalf);
  CHECK_THROWS_AS(t.all_reduce(half, "half"), Error);
  t.broadcast(half, ranks - 1, "half").wait();
  CHECK(half.eq(ranks - 1).all().item<bool>());
}

// Several operations under way, waited for in another order than they were started in.
void check_overlap(TensorPlane& t) {
  const int64_t n = 1 << 16;
  std::vector<at::Tensor> tensors, gathered;
  std::vector<Transfer> transfers;
  for (int i = 0; i < 6; ++i) {
    tensors.push_back(values_of(t.rank(), n + i, at::kFloat));
    transfers.push_back(t.all_reduce(tensors.back(), concat("tensor ", i)));
    gathered.push_back(at::zeros({16 * t.size()}, at::kLong));
    transfers.push_back(
        t.all_gather(at::full({16}, 10 * i + t.rank(), at::kLong), gathered.back(), concat("gathered ", i)));
    t.poll();
  }
  for (size_t i = transfers.size(); i-- > 0;) transfers[i].wait();
  for (int i = 0; i < 6; ++i) {
    CHECK(at::equal(tensors[static_cast<size_t>(i)], sum_in_rank_order(t.size(), n + i, at::kFloat)));
    CHECK(gathered[static_cast<size_t>(i)][16 * t.size() - 1].item<int64_t>() == 10 * i + t.size() - 1);
  }
}

// The last rank does not come; the others say so, in time.
void check_that_the_late_are_named(ControlPlane& c, TensorPlane& t) {
  const int late = c.size() - 1;
  t.set_wait_limit(kPatience_s);
  if (c.rank() != late) {
    at::Tensor x = at::ones({100});
    const Stopwatch watch;
    const std::string message = message_of([&] { t.all_reduce(x, "gradient of layer 3").wait(); });
    CHECK(watch.seconds() >= kPatience_s);
    CHECK_THAT(message, ContainsSubstring(concat("rank ", c.rank(), " waited")) &&
                            ContainsSubstring("all-reduce of gradient of layer 3") &&
                            ContainsSubstring(concat("rank ", late, ", which did not come")));
    CHECK_THROWS_AS(t.all_reduce(x, "another"), Error);
  }
  c.barrier();
}

void check_that_the_lost_are_named(ControlPlane& c, TensorPlane& t) {
  t.set_wait_limit(60);
  at::Tensor x = at::ones({4 * c.size()}), mine = at::ones({4});
  const std::string message = message_of([&] {
    if (c.rank() == 0)
      t.all_gather(mine, x, "values of layer 1").wait();
    else
      t.all_reduce(x, "gradient of layer 1").wait();
  });
  if (c.rank() == 0)
    CHECK_THAT(message, ContainsSubstring("rank 0 is in all-gather of values of layer 1") &&
                            ContainsSubstring(" in all-reduce of gradient of layer 1"));
  else
    CHECK_THAT(message, ContainsSubstring("rank 0 in all-gather"));
}

// A rank of an inquiry, which goes on while the rank waits in the control plane.
class AskingRank {
 public:
  AskingRank(MPI_Comm communicator, ControlPlane& control) : control_(control), inquiry_(communicator) {
    control_.set_while_waiting([this] { advance(); });
  }
  ~AskingRank() { control_.set_while_waiting({}); }
  void enter(const std::string& operation, const std::string& what) {
    entered_.enter(operation, what, at::ones({8}));
    advance();
  }
  void ask_for_latest() { inquiry_.ask(entered_.count() - 1, entered_); }
  bool comes_true(const std::function<bool()>& condition) {
    for (const Stopwatch watch; !condition() && watch.seconds() < 30;) {
      advance();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return condition();
  }
  std::vector<int> absent() const { return inquiry_.absent(); }
  const std::string& found() const { return found_; }

 private:
  void advance() {
    const std::string differs = inquiry_.advance(entered_);
    if (found_.empty()) found_ = differs;
  }
  ControlPlane& control_;
  MpiInquiry inquiry_;
  EnteredOperations entered_;
  std::string found_;
};

void check_that_ranks_ask_each_other(const MpiSession& session, ControlPlane& c) {
  const int late = c.size() - 1;
  MPI_Comm communicator = make_communicator(session);
  {
    AskingRank rank(communicator, c);
    // Who is late is known, and answers when it comes; nothing of it is taken for what follows.
    if (c.rank() != late) {
      rank.enter("all-reduce", "gradient of layer 3");
      rank.ask_for_latest();
      CHECK(rank.comes_true([&] { return rank.absent() == std::vector<int>{late}; }));
    }
    c.barrier();
    if (c.rank() == late)
      rank.enter("all-reduce", "gradient of layer 3");
    else
      CHECK(rank.comes_true([&] { return rank.absent().empty(); }));
    for (int i = 0; i < 200; ++i) rank.enter("all-gather", concat("values ", i));
    rank.ask_for_latest();
    CHECK(rank.comes_true([&] { return rank.absent().empty(); }));
    c.barrier();
    CHECK(rank.found().empty());
    // The first rank asks nobody, and learns from those who ask it that it has parted from them.
    if (c.rank() == 0) {
      rank.enter("all-gather", "values of layer 1");
    } else {
      rank.enter("all-reduce", "gradient of layer 1");
      rank.ask_for_latest();
    }
    CHECK(rank.comes_true([&] { return !rank.found().empty(); }));
    CHECK_THAT(rank.found(), ContainsSubstring(concat("rank ", c.rank(), " is in ")) &&
                                 ContainsSubstring("all-gather of values of layer 1 (") &&
                                 ContainsSubstring("all-reduce of gradient of layer 1 ("));
    c.barrier();
  }
  MPI_Comm_free(&communicator);
}

// The last thing of a session: records have no order any more.
void check_that_missing_records_are_named(ControlPlane& c) {
  const int late = c.size() - 1;
  c.set_wait_limit(kPatience_s);
  if (c.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  const std::string message = message_of([&] { c.barrier(); });
  CHECK_THAT(message, ContainsSubstring("rank 0 waited") && ContainsSubstring("test_planes.cpp:") &&
                          ContainsSubstring(concat("for rank ", late, ", which did not come")));
}

void check_that_places_are_compared(ControlPlane& c) {
  const std::string message = message_of([&] {
    if (c.rank() == 1)
      c.barrier();
    else
      c.all_gather("x");
  });
  CHECK_THAT(message,
             ContainsSubstring("not at the same place") && ContainsSubstring("rank 1 at test_planes.cpp"));
}

}  // namespace

TEST_CASE("a rank of the planes' test under mpirun", "[.planes]") {
  const MpiSession session;
  CHECK(MpiSession::launched_by_mpi());
  MpiControlPlane control(session);
  REQUIRE(control.size() > 1);
  check_records(control);
  check_parts(control);
  check_that_ranks_ask_each_other(session, control);
  {
    MpiTensorPlane tensors(session);
    check_sums(tensors);
    check_account(tensors);
    check_overlap(tensors);
    check_that_the_late_are_named(control, tensors);
  }
  MpiTensorPlane tensors(session);
  check_that_the_lost_are_named(control, tensors);
  check_that_places_are_compared(control);
  check_that_missing_records_are_named(control);
}

TEST_CASE("ranks exchange records and tensors, and name who does not come") {
  for (const int ranks : {2, 4}) {
    const RanksEnd end = run_on_mpi_ranks(ranks, "[.planes]");
    INFO(end.command << "\n" << end.output);
    CHECK(end.status == 0);
  }
}

TEST_CASE("the planes of one rank") {
  OneRank alone;
  at::Tensor x = at::arange(6, at::kFloat), part = at::zeros({6}), whole = at::zeros({6});
  alone.tensors.all_reduce(x, "x").wait();
  alone.tensors.reduce_scatter(x, part, "x").wait();
  alone.tensors.all_gather(part, whole, "x").wait();
  alone.tensors.broadcast(whole, 0, "x").wait();
  CHECK(at::equal(whole, at::arange(6, at::kFloat)));
  CHECK(alone.control.all_gather("mine") == std::vector<std::string>{"mine"});
  CHECK(alone.control.all_to_all({"mine"}) == std::vector<std::string>{"mine"});
}
