// What updates reach over the GPUs of one host, for a policy of random weights of any shape: rows a second of
// all ranks, MFU, memory, and how long rank 0 waited for others. Every rank has the same number of rows.
// bench/many_gpus/fsdp_peer.py does the same rows with PyTorch. With --device cpu it tries out its flow.
//   mpirun -np 4 bench_rank_update configs/shapes/sdar-1.7b.json --groups 4 --tokens-per-pack 17000 --stage 0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bench/many_gpus/rank_device.h"
#include "bench/many_gpus/update_options.h"
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

struct RankUpdateSettings : UpdateOptions {
  int64_t stage = 0;
  std::string device = "cuda";
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

  const PolicyConfig config = s.config();
  Transformer policy = Transformer::from_source(config, RandomWeights(config), device, own.dtype());
  PolicyUpdater updater(policy, allowed_ids(config, config.vocab_size, device), s.updater(), control, tensors,
                        Sharding{s.stage}, s.recompute());
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
      s.shape.c_str(), config.layers, ranks, s.stage, s.recompute_name.c_str(), rows,
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
  s.rows.groups = 4;
  s.add_to(app);
  app.add_option("--stage", s.stage, "sharding stage")->check(CLI::Range(0, 3));
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
