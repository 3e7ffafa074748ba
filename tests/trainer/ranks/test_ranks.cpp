// Updates over ranks: the hidden cases [.ranks], [.stages] and [.resumed] run under mpirun and leave what the
// visible ones compare.
#include "tests/trainer/ranks/mpi_ranks.h"

#include <stdlib.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <filesystem>
#include <map>

#include "common/error.h"
#include "common/files/files.h"
#include "tests/support/support.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/run/checkpoints/run_state.h"

using namespace bicrl;
using namespace bicrl::testing;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kStages = 4;

struct SomeUpdates {
  std::vector<at::Tensor> gradients;  // of TraceRL and supervised
  std::vector<UpdateStatistics> statistics;
  at::Tensor parameters;
};

UpdaterSettings moving_settings(int64_t tokens_per_pack) {
  UpdaterSettings s;
  s.learning_rate.peak = 1e-3;
  s.tokens_per_pack = tokens_per_pack;
  s.surrogate.normaliser = Normaliser::kSequences;
  s.optimizer.weight_decay = 0.1;
  s.max_grad_norm = 0.05;  // clips
  return s;
}

constexpr int64_t kManyPacks = 90, kOnePack = 100'000;

template <class T>
std::vector<T> share_of(const std::vector<T>& all, const ControlPlane& control) {
  std::vector<T> part;
  for (auto i = static_cast<size_t>(control.rank()); i < all.size(); i += static_cast<size_t>(control.size()))
    part.push_back(all[i]);
  return part;
}

std::vector<SftSample> five_samples(const PolicyConfig& config) {
  std::vector<SftSample> samples;
  for (uint64_t i = 0; i < 5; ++i) samples.push_back(make_sft_sample({2, 3, 4}, {5, 6, 7, kEnd}, config, i));
  return samples;
}

// Of the second batch the other ranks have nothing.
std::vector<SupervisedBatch> two_batches(const PolicyConfig& config, const ControlPlane& control) {
  const std::vector<SftSample> samples = five_samples(config);
  const auto batch_of = [&](const std::vector<SftSample>& all) {
    int64_t tokens = 0;
    for (const SftSample& sample : all) tokens += sample.response_tokens;
    return SupervisedBatch{share_of(all, control), tokens};
  };
  return {batch_of(samples), batch_of({samples[0]})};
}

// Imitation beside reinforcement.
UpdateStatistics imitating_step(PolicyUpdater& updater, const PolicyConfig& config, ControlPlane& control) {
  const auto experiences = share_of(random_experiences(config, 6), control);
  return over_ranks(updater.reinforce(experiences, all_gather_lists(control, shares_of(experiences)),
                                      two_batches(config, control)),
                    control);
}

// The same updates for any number of ranks: each takes every size-th item.
SomeUpdates some_updates(PolicyUpdater& updater, const Transformer& policy, ControlPlane& control) {
  const PolicyConfig& config = policy.config();
  SomeUpdates outcome;
  updater.observe_gradients(
      [&](const std::vector<at::Tensor>& gradients) { outcome.gradients.push_back(flat(gradients)); });
  outcome.statistics.push_back(reinforce(updater, share_of(random_experiences(config, 4), control), control));
  // One experience only: the other ranks have nothing and must still take part.
  outcome.statistics.push_back(reinforce(
      updater, share_of(std::vector<Experience>{random_experiences(config, 5)[3]}, control), control));
  outcome.statistics.push_back(supervise(updater, share_of(five_samples(config), control), control));
  outcome.statistics.push_back(imitating_step(updater, config, control));
  CHECK(outcome.statistics.back()[UpdateRow::kImitationUpdates] == 2);
  CHECK(reinforce(updater, {}, control)[UpdateRow::kUpdates] == 0);
  updater.check_replicas();
  outcome.parameters = flat_values(policy);
  if (policy.has_adapters()) outcome.parameters = at::cat({outcome.parameters, flat_adapters(policy)});
  return outcome;
}

// Of adapters, or of all parameters.
enum class Trained { kAll, kAdapters };

Transformer some_policy(const PolicyConfig& config, uint64_t seed, at::ScalarType dtype, Trained trained) {
  Transformer policy = tiny_policy(config, seed, dtype);
  if (trained == Trained::kAdapters) add_drawn_adapters(policy, tiny_lora(), seed);
  return policy;
}

SomeUpdates some_updates(ControlPlane& control, TensorPlane& tensors, const PolicyConfig& config,
                         at::ScalarType dtype, int64_t tokens_per_pack, Trained trained,
                         Sharding sharding = {}) {
  // Ranks start from different weights on purpose: the broadcast has to make them equal.
  Transformer policy = some_policy(config, 40 + static_cast<uint64_t>(control.rank()), dtype, trained);
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(tokens_per_pack), control, tensors,
                        sharding);
  updater.broadcast_parameters();
  return some_updates(updater, policy, control);
}

std::string bytes_of(const SomeUpdates& o) {
  std::string bytes;
  const auto add = [&](const at::Tensor& t) {
    const at::Tensor wide = t.to(at::kDouble).contiguous();
    bytes.append(static_cast<const char*>(wide.const_data_ptr()), wide.nbytes());
  };
  for (const auto& g : o.gradients) add(g);
  add(o.parameters);
  for (UpdateStatistics s : o.statistics) {
    // Ranks pack a prompt each for itself, so these depend on their number.
    s[UpdateRow::kPackedRows] = s[UpdateRow::kPackedPairs] = 0;
    add(at::tensor(s.values(), at::kDouble));
  }
  return bytes;
}

at::Tensor doubles_of(const std::string& bytes) {
  at::Tensor t = at::empty({static_cast<int64_t>(bytes.size() / sizeof(double))}, at::kDouble);
  memcpy(t.mutable_data_ptr(), bytes.data(), bytes.size());
  return t;
}

double difference(const std::string& a, const std::string& b) {
  REQUIRE(a.size() == b.size());
  return (doubles_of(a) - doubles_of(b)).abs().max().item<double>();
}

fs::path output_folder() { return getenv("BICRL_RANKS_OUTPUT"); }

std::string output_in(const TemporaryFolder& folder) {
  return concat("BICRL_RANKS_OUTPUT='", folder.path().string(), "'");
}

void run_well(int ranks, const std::string& tag, const std::string& environment) {
  const RanksEnd end = run_on_mpi_ranks(ranks, tag, environment);
  INFO(end.command << "\n" << end.output);
  REQUIRE(end.status == 0);
}

std::string outcome_file(Trained trained, int64_t stage) {
  return concat(trained == Trained::kAll ? "all-" : "adapters-", stage);
}

void check_that_divergence_is_found(ControlPlane& control, TensorPlane& tensors) {
  const PolicyConfig config = tiny_config(4);
  Transformer policy = tiny_policy(config, 40 + static_cast<uint64_t>(control.rank()));
  PolicyUpdater updater(policy, tiny_allowed(config), moving_settings(kManyPacks), control, tensors);
  CHECK_THROWS_AS(updater.check_replicas(), Error);
}

// ---- Stages

struct Variant {
  std::string name;
  at::ScalarType dtype;
  bool tied;
  int64_t tokens_per_pack;
  Trained trained = Trained::kAll;

  PolicyConfig config() const {
    PolicyConfig config = tiny_config(4);
    config.tie_word_embeddings = tied;
    return config;
  }
  Transformer policy(uint64_t seed) const { return some_policy(config(), seed, dtype, trained); }
};

// Where there is one pack, every rank has one in an update.
const std::vector<Variant> kVariants = {{"fp32", at::kFloat, false, kOnePack},
                                        {"bf16", at::kBFloat16, true, kOnePack},
                                        {"packs", at::kFloat, true, kManyPacks},
                                        {"adapters", at::kFloat, false, kOnePack, Trained::kAdapters},
                                        {"adapters-bf16", at::kBFloat16, true, kOnePack, Trained::kAdapters},
                                        {"adapters-packs", at::kFloat, true, kManyPacks, Trained::kAdapters}};
// Those that are gone on with.
const std::vector<Variant> kResumed = {kVariants[0], kVariants[3], kVariants[4]};

// Gathered parameters are read a second time where activations are computed again.
Recompute recompute_in(int64_t stage) {
  return stage == 3 ? Recompute::kFull : stage == 2 ? Recompute::kSelective : Recompute::kNone;
}

std::string file_of(const Variant& variant, int64_t stage) { return concat(variant.name, "-", stage); }
std::string resumed_file(const Variant& variant, int ranks, int64_t stage) {
  return concat("resumed-", ranks, "-", file_of(variant, stage));
}

// All of an updater's state that any number of ranks left in a folder, as one rank reads it.
std::string state_bytes(const fs::path& folder, const Variant& variant) {
  OneRank alone;
  Transformer policy = variant.policy(1);
  PolicyUpdater updater(policy, tiny_allowed(policy.config()), moving_settings(kOnePack), alone.control,
                        alone.tensors);
  restore_updater(folder, updater);
  std::string bytes;
  const SavedState state = updater.export_state();
  for (const auto& [name, pieces] : state.tensors()) {
    const at::Tensor& values = pieces.front().values;
    bytes += name + ":";
    bytes.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  }
  return bytes;
}

// Weights and state, as a run's checkpoint has them.
void save(const fs::path& folder, const Transformer& policy, const PolicyUpdater& updater,
          ControlPlane& control) {
  if (control.rank() == 0) {
    fs::create_directories(folder);
    write_safetensors(folder / "model.safetensors", policy.parameters());
    write_safetensors(folder / "trained.safetensors", policy.trained().values());
  }
  control.barrier();
  if (const auto file = updater_file(updater, control.rank(), control.size())) write_updater(folder, *file);
  control.barrier();
}

void load(const fs::path& folder, Transformer& policy, PolicyUpdater& updater) {
  const SafetensorsFile all(folder / "model.safetensors"), trained(folder / "trained.safetensors");
  for (const auto& [name, value] : policy.parameters()) value.copy_(all.load(name));
  for (const auto& [name, value] : policy.trained().values()) value.copy_(trained.load(name));
  updater.broadcast_parameters();
  restore_updater(folder, updater);
}

}  // namespace

TEST_CASE("a rank of the test under mpirun", "[.ranks]") {
  const MpiSession session;
  MpiControlPlane control(session);
  MpiTensorPlane tensors(session);
  REQUIRE(control.size() > 1);
  check_that_divergence_is_found(control, tensors);
  for (const Trained trained : {Trained::kAll, Trained::kAdapters})
    for (int64_t stage = 0; stage < kStages; ++stage) {
      const SomeUpdates outcome =
          some_updates(control, tensors, tiny_config(4), at::kDouble, kManyPacks, trained, Sharding{stage});
      if (control.rank() == 0)
        write_file_atomically(output_folder() / outcome_file(trained, stage), bytes_of(outcome));
    }
}

TEST_CASE("ranks take the updates of one, whatever they divide among them") {
  OneRank alone;
  std::map<Trained, std::string> expected;
  for (const Trained trained : {Trained::kAll, Trained::kAdapters}) {
    const SomeUpdates one =
        some_updates(alone.control, alone.tensors, tiny_config(4), at::kDouble, kManyPacks, trained);
    REQUIRE(one.gradients.size() == 6);
    for (const auto& g : one.gradients) CHECK(g.norm().item<double>() > 1e-3);
    expected[trained] = bytes_of(one);
  }
  for (int ranks : {2, 3, 4}) {
    const TemporaryFolder folder;
    run_well(ranks, "[.ranks]", output_in(folder));
    for (const auto& [trained, one] : expected)
      for (int64_t stage = 0; stage < kStages; ++stage) {
        INFO(ranks << " ranks, " << outcome_file(trained, stage));
        // The policy is of fp64, log-probabilities are of fp32.
        CHECK(difference(read_file(folder.path() / outcome_file(trained, stage)), one) < 1e-6);
      }
  }
}

TEST_CASE("a rank of the stages' test under mpirun", "[.stages]") {
  const MpiSession session;
  MpiControlPlane control(session);
  MpiTensorPlane tensors(session);
  for (const Variant& variant : kVariants)
    for (int64_t stage = 0; stage < kStages; ++stage) {
      Transformer policy = variant.policy(40 + static_cast<uint64_t>(control.rank()));
      PolicyUpdater updater(policy, tiny_allowed(policy.config()), moving_settings(variant.tokens_per_pack),
                            control, tensors, Sharding{stage}, recompute_in(stage));
      updater.broadcast_parameters();
      const SomeUpdates outcome = some_updates(updater, policy, control);
      const fs::path place = output_folder() / file_of(variant, stage);
      save(place, policy, updater, control);
      if (control.rank() == 0) write_file_atomically(place / "outcome", bytes_of(outcome));
    }
}

TEST_CASE("a rank that goes on in another stage, under mpirun", "[.resumed]") {
  const MpiSession session;
  MpiControlPlane control(session);
  MpiTensorPlane tensors(session);
  for (const Variant& variant : kResumed)
    for (int64_t stage = 0; stage < kStages; ++stage) {
      Transformer policy = variant.policy(3);
      PolicyUpdater updater(policy, tiny_allowed(policy.config()), moving_settings(variant.tokens_per_pack),
                            control, tensors, Sharding{stage});
      const int64_t from = (stage + 3) % kStages;
      load(output_folder() / file_of(variant, from), policy, updater);
      const SomeUpdates outcome = some_updates(updater, policy, control);
      const fs::path place = output_folder() / resumed_file(variant, control.size(), stage);
      save(place, policy, updater, control);
      if (control.rank() == 0) write_file_atomically(place / "outcome", bytes_of(outcome));
    }
}

TEST_CASE("every sharding stage is stage 0, and goes on from the state of any other") {
  for (const int ranks : {2, 4}) {
    const TemporaryFolder folder;
    run_well(ranks, "[.stages]", output_in(folder));
    for (const Variant& variant : kVariants) {
      const fs::path first = folder.path() / file_of(variant, 0);
      const std::string outcome = read_file(first / "outcome"), state = state_bytes(first, variant);
      CHECK(fs::exists(first / "trainer/optimizer.safetensors"));
      for (int64_t stage = 1; stage < kStages; ++stage) {
        INFO(ranks << " ranks, " << variant.name << ", stage " << stage);
        const fs::path place = folder.path() / file_of(variant, stage);
        CHECK_FALSE(fs::exists(place / "trainer/optimizer.safetensors"));
        // With several packs stages 2 and 3 sum over ranks before they sum over packs.
        if (variant.tokens_per_pack == kOnePack || stage == 1) {
          CHECK(read_file(place / "outcome") == outcome);
          CHECK(state_bytes(place, variant) == state);
        } else {
          CHECK(difference(read_file(place / "outcome"), outcome) < 1e-5);
        }
      }
    }
    // On as many ranks and on others, from the state of another stage.
    for (const int others : {ranks, 6 - ranks}) {
      run_well(others, "[.resumed]", output_in(folder));
      for (const Variant& variant : kResumed) {
        const auto resumed = [&](int64_t stage) {
          return folder.path() / resumed_file(variant, others, stage);
        };
        for (int64_t stage = 1; stage < kStages; ++stage) {
          INFO(ranks << " ranks, then " << others << " in stage " << stage << ", " << variant.name);
          CHECK(read_file(resumed(stage) / "outcome") == read_file(resumed(0) / "outcome"));
          CHECK(state_bytes(resumed(stage), variant) == state_bytes(resumed(0), variant));
        }
      }
    }
  }
}
