// What updates reach over the GPUs of one host, for a policy of random weights of any shape: rows a second of
// all ranks, MFU, memory, and how long rank 0 waited for others. Every rank has the same number of rows.
// bench/many_gpus/fsdp_peer.py does the same rows with PyTorch. With --device cpu it tries out its flow.
//   mpirun -np 4 bench_rank_update configs/shapes/sdar-1.7b.json --groups 4 --tokens-per-pack 17000 --stage 0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bench/many_gpus/rank_device.h"
#include "bench/many_gpus/update_rows.h"
#include "bench/random_weights.h"
#include "common/clock.h"
#include "common/error.h"
#include "launch/tensor_plane_choice.h"
#include "policy/distribution.h"
#include "trainer/ranks/measured_tensors.h"
#include "trainer/ranks/mpi/mpi_control_plane.h"
#include "trainer/run/reports/model_flops.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {
namespace {

struct RankUpdateSettings {
  std::string shape;
  UpdateRows rows{.groups = 4};
  int64_t layers = 0;  // 0: all
  int64_t tokens_per_pack = 17000;
  int64_t stage = 0;
  std::string recompute = "none", device = "cuda";
  int64_t repeats = 5;
};

void run(const RankUpdateSettings& s) {
  MpiSession session;
  MpiControlPlane control(session);
  const int rank = control.rank(), ranks = control.size();
  const RankDevice own(s.device, control);
  const at::Device device = own.device;
  const std::unique_ptr<TensorPlane> plane = make_tensor_plane(session, control, device);
  MeasuredTensors tensors(*plane);

  PolicyConfig config = PolicyConfig::from_file(s.shape);
  if (s.layers > 0) config.layers = s.layers;
  Transformer policy = Transformer::from_source(config, RandomWeights(config), device, own.dtype());
  UpdaterSettings settings;
  settings.tokens_per_pack = s.tokens_per_pack;
  settings.learning_rate.peak = 1e-6;
  const Recompute recompute = s.recompute == "full"        ? Recompute::kFull
                              : s.recompute == "selective" ? Recompute::kSelective
                                                           : Recompute::kNone;
  PolicyUpdater updater(policy, allowed_ids(config, config.vocab_size, device), settings, control, tensors,
                        Sharding{s.stage}, recompute);
  updater.broadcast_parameters();

  const std::vector<Experience> mine = make_experiences(s.rows, config, rank, ranks);
  StepKeys keys;
  for (int other = 0; other < ranks; ++other)
    keys.push_back(shares_of(make_experiences(s.rows, config, other, ranks)));

  UpdateTotals totals;
  std::vector<double> seconds;
  CollectiveAccount account;
  for (int64_t i = 0; i < s.repeats + 2; ++i) {
    control.barrier();
    tensors.take();
    const Stopwatch watch;
    totals = updater.reinforce(mine, keys);
    own.synchronize();
    control.barrier();
    if (i >= 2) seconds.push_back(watch.seconds());
    account = tensors.take();
  }
  if (rank != 0) return;
  double mean = 0;
  for (const double each : seconds) mean += each / static_cast<double>(seconds.size());
  const double rows = totals[UpdateRow::kPackedRows];  // of this rank, as of every other
  const double flops =
      training_flops(config, false, rows, totals[UpdateRow::kTrainedTokens], totals[UpdateRow::kPackedPairs]);
  double waited = 0;
  for (const auto& [kind, figures] : account) waited += figures.waited_s;
  printf(
      "%s, %ld layers, %d ranks, stage %ld, recompute %s: %.0f rows a rank, %.0f pairs a row; %.1f ms (%.1f "
      "to %.1f), %.0f rows/s of all ranks, MFU %.1f %%, %.1f GiB, rank 0 waited %.1f ms\n",
      s.shape.c_str(), config.layers, ranks, s.stage, s.recompute.c_str(), rows,
      totals[UpdateRow::kPackedPairs] / rows, 1e3 * mean, 1e3 * *std::ranges::min_element(seconds),
      1e3 * *std::ranges::max_element(seconds), rows * ranks / mean,
      100 * flops / (peak_bf16_flops(gpu_name()).value_or(989.4e12) * mean),
      static_cast<double>(own.memory().peak_allocated) / (1 << 30), 1e3 * waited);
  for (const auto& [kind, figures] : account)
    printf("  %s: %ld calls, %.1f GB, waited %.1f ms, under way %.1f ms\n", kind.c_str(), figures.calls,
           static_cast<double>(figures.bytes) * 1e-9, 1e3 * figures.waited_s, 1e3 * figures.under_way_s);
  fflush(stdout);
}

}  // namespace
}  // namespace bicrl

int main(int argc, char** argv) {
  bicrl::RankUpdateSettings s;
  CLI::App app("Measures updates over the GPUs of this host");
  app.add_option("shape", s.shape, "config.json of the policy")->required();
  app.add_option("--layers", s.layers, "so many of the policy's layers; 0: all");
  app.add_option("--groups", s.rows.groups, "prompts of a rank");
  app.add_option("--samples", s.rows.samples, "responses to a prompt");
  app.add_option("--prompt", s.rows.prompt, "tokens of a prompt");
  app.add_option("--response", s.rows.response, "tokens of a response");
  app.add_option("--rounds", s.rows.rounds, "denoising rounds of a block, two scored tokens each")
      ->check(CLI::Range(1, 2));
  app.add_option("--tokens-per-pack", s.tokens_per_pack, "rows of a pass");
  app.add_option("--stage", s.stage, "sharding stage")->check(CLI::Range(0, 3));
  app.add_option("--recompute", s.recompute)->check(CLI::IsMember({"none", "selective", "full"}));
  app.add_option("--repeats", s.repeats);
  app.add_option("--device", s.device)->check(CLI::IsMember({"cuda", "cpu"}));
  CLI11_PARSE(app, argc, argv);
  try {
    bicrl::run(s);
  } catch (const std::exception& error) {
    fprintf(stderr, "bench_rank_update: %s\n", error.what());
    bicrl::MpiSession::abort(1);
  }
  return 0;
}
