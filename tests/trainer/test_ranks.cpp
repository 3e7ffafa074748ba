// Data parallelism: the hidden case [.ranks] runs under mpirun and dumps what the visible one compares.
#include "tests/trainer/fixtures.h"

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "common/error.h"
#include "common/files.h"
#include "tests/support/support.h"
#include "trainer/ranks/mpi_communicator.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

struct Outcome {
  std::vector<at::Tensor> gradients;  // of three updates: twice TraceRL, once supervised
  std::vector<UpdateStatistics> statistics;
  at::Tensor parameters;
};

UpdaterSettings moving_settings() {
  UpdaterSettings s;
  s.learning_rate.peak = 1e-3;
  s.tokens_per_pack = 90;
  s.objective.normaliser = Normaliser::kSequences;
  return s;
}

// The same three updates for any number of ranks: each takes every size-th item.
Outcome three_updates(Communicator& communicator) {
  const PolicyConfig config = tiny_config(4);
  // Ranks start from different weights on purpose: the broadcast has to make them equal.
  Transformer policy = tiny_policy(config, 40 + communicator.rank());
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(), communicator);
  updater.broadcast_parameters();
  Outcome outcome;
  updater.observe_gradients(
      [&](const ParameterStore& store) {
        outcome.gradients.push_back(flat_part(store, ParameterPart::kGradient));
      });
  const auto mine = [&](const auto& all) {
    auto part = all;
    part.clear();
    for (size_t i = communicator.rank(); i < all.size(); i += communicator.size()) part.push_back(all[i]);
    return part;
  };
  outcome.statistics.push_back(reinforce(updater, mine(random_experiences(config, 4)), communicator));
  // One experience only: the second rank has nothing and must still take part.
  outcome.statistics.push_back(
      reinforce(updater, mine(std::vector<Experience>{random_experiences(config, 5)[3]}), communicator));
  std::vector<SftSample> samples;
  for (uint64_t i = 0; i < 5; ++i) samples.push_back(make_sft_sample({2, 3, 4}, {5, 6, 7, kEnd}, config, i));
  outcome.statistics.push_back(supervise(updater, mine(samples), communicator));
  CHECK(reinforce(updater, {}, communicator).updates == 0);
  updater.check_replicas();
  outcome.parameters = flat_values(policy);
  return outcome;
}

std::string bytes_of(const Outcome& o) {
  std::string bytes;
  const auto add = [&](const at::Tensor& t) {
    bytes.append(static_cast<const char*>(t.const_data_ptr()), t.nbytes());
  };
  for (const auto& g : o.gradients) add(g);
  add(o.parameters);
  for (const auto& s : o.statistics) {
    add(at::tensor({s.loss, s.policy_loss, s.kl, s.entropy, s.logprob_gap_mean, s.logprob_gap_max,
                    s.grad_norm, static_cast<double>(s.scored_tokens)},
                   at::kDouble));
  }
  return bytes;
}

at::Tensor doubles_of(const std::string& bytes) {
  at::Tensor t = at::empty({static_cast<int64_t>(bytes.size() / sizeof(double))}, at::kDouble);
  memcpy(t.mutable_data_ptr(), bytes.data(), bytes.size());
  return t;
}

void check_collectives(Communicator& c) {
  CHECK(c.local_rank() == c.rank());  // one host
  CHECK(c.hosts() == 1);
  CHECK(c.ranks_on_host() == c.size());
  const double rank = c.rank(), ranks = c.size();
  for (const auto dtype : {at::kFloat, at::kDouble, at::kLong}) {
    at::Tensor x = at::full({5}, rank + 1, dtype);
    c.all_reduce_sum(x);
    CHECK(x.eq(ranks * (ranks + 1) / 2).all().item<bool>());
  }
  at::Tensor half = at::full({3}, rank, at::kHalf);
  CHECK_THROWS_AS(c.all_reduce_sum(half), Error);
  c.broadcast(half, c.size() - 1);
  CHECK(half.eq(ranks - 1).all().item<bool>());
  std::vector<double> values{rank, -rank};
  c.all_reduce(values, Reduction::kMax);
  CHECK(values == std::vector<double>{ranks - 1, 0});
  const std::string text(1000 * static_cast<size_t>(c.rank()), static_cast<char>('a' + c.rank()));
  const auto everybody = c.all_gather(text);
  REQUIRE(everybody.size() == static_cast<size_t>(c.size()));
  CHECK(everybody[0].empty());
  CHECK(everybody[static_cast<size_t>(c.rank())] == text);
  c.barrier();
}

void check_that_divergence_is_found(Communicator& c) {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 40 + c.rank());
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(), c);
  CHECK_THROWS_AS(updater.check_replicas(), Error);
}

}  // namespace

TEST_CASE("a rank of the test under mpirun", "[.ranks]") {
  const MpiSession session;
  CHECK(MpiSession::launched_by_mpi());
  MpiCommunicator communicator(session);
  REQUIRE(communicator.size() > 1);
  check_collectives(communicator);
  check_that_divergence_is_found(communicator);
  const Outcome outcome = three_updates(communicator);
  if (communicator.rank() == 0) write_file_atomically(getenv("BICRL_RANKS_OUTPUT"), bytes_of(outcome));
}

TEST_CASE("two and three ranks take the updates of one") {
  SingleProcessCommunicator alone;
  const Outcome one = three_updates(alone);
  REQUIRE(one.gradients.size() == 3);
  const at::Tensor expected = doubles_of(bytes_of(one));
  for (int ranks : {2, 3}) {
    TemporaryFolder folder;
    const auto output = folder.path() / "outcome";
    // Open MPI leaves some kilobytes behind, which a leak check would take for a failure.
    const std::string command =
        concat("ASAN_OPTIONS=detect_leaks=0 BICRL_RANKS_OUTPUT='", output.string(),
               "' timeout 100 mpirun --allow-run-as-root --oversubscribe --bind-to none -np ", ranks, " '",
               (program_folder() / "test_trainer").string(), "' '[.ranks]' >'",
               (folder.path() / "log").string(), "' 2>&1");
    const int status = system(command.c_str());
    INFO(command << "\n" << read_file(folder.path() / "log"));
    REQUIRE(status == 0);
    const at::Tensor actual = doubles_of(read_file(output));
    REQUIRE(actual.sizes() == expected.sizes());
    CHECK((actual - expected).abs().max().item<double>() < 1e-6);
    for (const auto& g : one.gradients) CHECK(g.norm().item<double>() > 1e-3);
  }
}
