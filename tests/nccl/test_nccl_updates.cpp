// Updates of one small policy over NCCL and over MPI, in every sharding stage: the same losses, norms and
// weights. Prints them.
#include "tests/nccl/ranks_with_gpus.h"
#include "tests/trainer/fixtures.h"
#include "tests/trainer/update/renamed_tensors.h"

#include <ATen/Context.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#include <iostream>

#include "common/clock.h"
#include "common/error.h"
#include "trainer/ranks/mpi/mpi_tensor_plane.h"
#include "trainer/ranks/nccl/nccl_tensor_plane.h"

using namespace bicrl;
using namespace bicrl::testing;

namespace {

constexpr int64_t kStages = 4;
constexpr int kSteps = 4;

// Operations that add in an order of their own at each run would hide what planes do.
class Deterministic {
 public:
  Deterministic() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true); }
  ~Deterministic() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

PolicyConfig small_config() {
  PolicyConfig c;
  c.vocab_size = 512;
  c.hidden_size = 128;
  c.layers = 4;
  c.heads = 4;
  c.kv_heads = 2;
  c.head_dim = 32;
  c.intermediate_size = 384;
  c.block_size = 4;
  c.mask_token_id = 0;
  c.end_token_ids = {kEnd};
  return c;
}

struct Outcome {
  std::vector<double> losses, norms;
  at::Tensor weights;  // on the CPU
  double seconds = 0;
};

Recompute recompute_in(int64_t stage) { return stage == 3 ? Recompute::kFull : Recompute::kNone; }

UpdaterSettings small_settings() {
  UpdaterSettings settings;
  settings.learning_rate.peak = 1e-4;
  settings.max_grad_norm = 0.5;
  settings.optimizer.weight_decay = 0.1;
  return settings;
}

std::vector<Experience> share_of(const std::vector<Experience>& all, const ControlPlane& control) {
  std::vector<Experience> mine;
  for (auto i = static_cast<size_t>(control.rank()); i < all.size(); i += static_cast<size_t>(control.size()))
    mine.push_back(all[i]);
  return mine;
}

Outcome train(ControlPlane& control, TensorPlane& tensors, at::Device device, at::ScalarType dtype,
              int64_t stage) {
  const PolicyConfig config = small_config();
  Transformer policy = Transformer::random(config, 7, device, dtype);
  PolicyUpdater updater(policy, at::ones({config.vocab_size}, at::TensorOptions(device).dtype(at::kBool)),
                        small_settings(), control, tensors, Sharding{stage}, recompute_in(stage));
  updater.broadcast_parameters();
  Outcome outcome;
  const Stopwatch watch;
  for (int step = 0; step < kSteps; ++step) {
    const auto all = random_experiences(config, 20 + static_cast<uint64_t>(step));
    const UpdateStatistics statistics = reinforce(updater, share_of(all, control), control);
    outcome.losses.push_back(statistics[UpdateRow::kLoss]);
    outcome.norms.push_back(statistics[UpdateRow::kGradNorm]);
  }
  outcome.seconds = watch.seconds();
  updater.check_replicas();
  outcome.weights = flat_values(policy).to(at::kCPU, at::kDouble);
  return outcome;
}

double largest_relative(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]) / std::max(std::abs(b[i]), 1e-12));
  return largest;
}

struct Difference {
  double loss, norm, weight, weights;  // relative, relative, of one weight, relative over all
};

Difference difference(const Outcome& a, const Outcome& b) {
  return {largest_relative(a.losses, b.losses), largest_relative(a.norms, b.norms),
          (a.weights - b.weights).abs().max().item<double>(), relative_difference(a.weights, b.weights)};
}

std::string row(const std::string& name, const Outcome& o, const Outcome& of) {
  const Difference d = difference(o, of);
  char text[200];
  snprintf(text, sizeof text,
           "  %-18s loss %-12.8g norm %-12.8g off by: loss %.1e norm %.1e weight %.1e (%.1e)%s", name.c_str(),
           o.losses.back(), o.norms.back(), d.loss, d.norm, d.weight, d.weights,
           at::equal(o.weights, of.weights) ? " same bits" : "");
  return text;
}

}  // namespace

TEST_CASE("every sharding stage over NCCL trains as over MPI", "[stages]") {
  GpuRanks& ranks = gpu_ranks(2);
  ControlPlane& control = ranks.control;
  const Deterministic deterministic;
  NcclTensorPlane nccl(ranks.session, control, ranks.gpu());
  MpiTensorPlane mpi(ranks.session);
  nccl.set_wait_limit(60);
  mpi.set_wait_limit(60);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const double tolerance = dtype == at::kFloat ? 1e-4 : 5e-2;
    std::string table = concat(c10::toString(dtype), ", ", control.size(), " ranks, ", kSteps, " steps; ",
                               "differences are from MPI with the policy on the GPU in stage 0\n");
    const Outcome expected = train(control, mpi, ranks.gpu(), dtype, 0);
    table += row("MPI, CPU, stage 0", train(control, mpi, at::kCPU, dtype, 0), expected) + "\n";
    for (int64_t stage = 0; stage < kStages; ++stage) {
      INFO(c10::toString(dtype) << ", stage " << stage);
      const Outcome over_mpi = stage == 0 ? expected : train(control, mpi, ranks.gpu(), dtype, stage);
      const Outcome over_nccl = train(control, nccl, ranks.gpu(), dtype, stage);
      table += row(concat("MPI, stage ", stage), over_mpi, expected) + "\n";
      table += row(concat("NCCL, stage ", stage), over_nccl, expected) +
               concat("; ", over_nccl.seconds, " s, MPI ", over_mpi.seconds, "\n");
      for (const Outcome* other : {&over_mpi, &expected}) {
        const Difference d = difference(over_nccl, *other);
        CHECK(d.loss < tolerance);
        CHECK(d.norm < tolerance);
        CHECK(d.weights < tolerance);
      }
    }
    if (control.rank() == 0) std::cout << table << std::flush;
  }
}

// Of one size, NCCL sums them without a fault.
TEST_CASE("a sum of gradients that do not belong together is found before weights change", "[parted]") {
  GpuRanks& ranks = gpu_ranks(2);
  const PolicyConfig config = small_config();
  const auto all = random_experiences(config, 20);
  for (int64_t stage = 0; stage < 3; ++stage) {
    INFO("stage " << stage);
    MpiControlPlane control(ranks.session);
    NcclTensorPlane nccl(ranks.session, control, ranks.gpu());
    nccl.set_wait_limit(60);
    RenamedTensors renamed(nccl, "gradient of layer 1", "gradient of layer 0");
    TensorPlane& tensors = control.rank() == 1 ? static_cast<TensorPlane&>(renamed) : nccl;
    Transformer policy = Transformer::random(config, 7, ranks.gpu(), at::kBFloat16);
    const auto allowed = at::ones({config.vocab_size}, at::TensorOptions(ranks.gpu()).dtype(at::kBool));
    PolicyUpdater updater(policy, allowed, small_settings(), control, tensors, Sharding{stage});
    const at::Tensor before = flat_values(policy).clone();
    CHECK_THROWS_WITH(reinforce(updater, share_of(all, control), control),
                      Catch::Matchers::ContainsSubstring(" of gradient of layer 1 (") &&
                          Catch::Matchers::ContainsSubstring(" of gradient of layer 0 ("));
    CHECK(at::equal(flat_values(policy), before));
    ranks.control.barrier();
  }
}
