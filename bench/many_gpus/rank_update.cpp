// What updates reach over the GPUs of one host, for a policy of random weights of any shape: rows a second of
// all ranks, MFU, memory, and how long rank 0 waited for others. Every rank has the same number of rows.
// bench/many_gpus/fsdp_peer.py does the same rows with PyTorch. Each kind of transfer is also timed with
// nothing beside it, which says how much of them updates hide. --no-transfers is the control for what they
// cost: the same updates by ranks that move nothing. With --device cpu it tries out its flow.
//   mpirun -np 4 bench_rank_update configs/shapes/sdar-1.7b.json --groups 4 --tokens-per-pack 17000 --stage 0
#include <ATen/ATen.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>

#include "bench/many_gpus/no_transfers.h"
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
#include "trainer/update/gradient_buckets.h"
#include "trainer/update/policy_updater.h"

namespace bicrl {
namespace {

struct RankUpdateSettings : UpdateOptions {
  int64_t stage = 0;
  std::string device = "cuda";
  int64_t repeats = 5, updates = 1;
  bool no_transfers = false;
};

// One rank has nothing to move, and no plane that could slow it.
std::unique_ptr<TensorPlane> plane_of(const RankUpdateSettings& s, const MpiSession& session,
                                      ControlPlane& control, at::Device device) {
  if (control.size() == 1) return std::make_unique<SingleProcessTensors>();
  if (s.no_transfers) return std::make_unique<NoTransfers>(control.rank(), control.size());
  return make_tensor_plane(session, control, device);
}

// Bytes of whole tensors a second that this kind of transfer moves with nothing beside it, at the size that
// updates had on average, up to 256 MiB, with as many under way; 0 for other kinds. Collective.
double bytes_per_second(const std::string& kind, const CollectiveFigures& figures, TensorPlane& plane,
                        const RankDevice& own, ControlPlane& control) {
  constexpr int64_t kMost_bytes = int64_t{256} << 20;
  constexpr int kTransfers = 20, kNotCounted = 3;
  constexpr size_t kUnderWay = GradientBuckets::kMaxUnderWay + 1;
  if (figures.calls == 0 || (kind != "all_reduce" && kind != "reduce_scatter" && kind != "all_gather"))
    return 0;
  const int64_t elements_of_rank =
      std::max<int64_t>(1, std::min(figures.bytes / figures.calls, kMost_bytes) / 4 / plane.size());
  std::vector<at::Tensor> wholes;
  for (size_t i = 0; i < kUnderWay; ++i)
    wholes.push_back(at::zeros({elements_of_rank * plane.size()}, at::TensorOptions(own.device)));
  Stopwatch watch;
  std::deque<Transfer> under_way;
  const auto receive_down_to = [&](size_t count) {
    for (; under_way.size() > count; under_way.pop_front()) under_way.front().wait();
  };
  for (int i = 0; i < kNotCounted + kTransfers; ++i) {
    if (i == kNotCounted) {
      receive_down_to(0);
      own.synchronize();
      control.barrier();
      watch.restart();
    }
    receive_down_to(kUnderWay - 1);
    const at::Tensor& whole = wholes[static_cast<size_t>(i) % kUnderWay];
    const at::Tensor mine = whole.narrow(0, plane.rank() * elements_of_rank, elements_of_rank);
    under_way.push_back(kind == "all_reduce"       ? plane.all_reduce(whole, kind)
                        : kind == "reduce_scatter" ? plane.reduce_scatter(whole, mine, kind)
                                                   : plane.all_gather(mine, whole, kind));
  }
  receive_down_to(0);
  own.synchronize();
  return kTransfers * static_cast<double>(wholes.front().nbytes()) / watch.seconds();
}

// A line for each kind, of one update of rank 0. Collective.
void print_transfers(const CollectiveAccount& account, int64_t updates, TensorPlane& plane,
                     const RankDevice& own, ControlPlane& control) {
  for (const auto& [kind, figures] : account) {
    const double rate = bytes_per_second(kind, figures, plane, own, control);
    if (control.rank() != 0) continue;
    const auto of_update = [&](double sum) { return sum / static_cast<double>(updates); };
    const double bytes = of_update(static_cast<double>(figures.bytes));
    printf("  %s: %.0f calls, %.1f GB, waited %.1f ms, under way %.1f ms", kind.c_str(),
           of_update(static_cast<double>(figures.calls)), bytes * 1e-9, of_update(1e3 * figures.waited_s),
           of_update(1e3 * figures.under_way_s));
    if (rate > 0) printf("; alone %.1f ms, %.0f GB/s", 1e3 * bytes / rate, rate * 1e-9);
    printf("\n");
  }
}

// A line of figures of one update.
void print_updates(const RankUpdateSettings& s, int ranks, const UpdateTotals& totals,
                   const std::vector<double>& seconds, const CollectiveAccount& account,
                   const RankDevice& own) {
  const PolicyConfig config = s.config();
  double mean = 0;
  for (const double each : seconds) mean += each / static_cast<double>(seconds.size());
  const double rows = totals[UpdateRow::kPackedRows];  // of this rank, as of every other
  const double flops =
      training_flops(config, false, rows, totals[UpdateRow::kTrainedTokens], totals[UpdateRow::kPackedPairs]);
  double waited = 0;
  for (const auto& [kind, figures] : account) waited += figures.waited_s;
  printf(
      "%s, %ld layers, %d ranks, stage %ld%s, recompute %s: %.0f rows a rank, %.0f pairs a row; %.1f ms an "
      "update (%.1f to %.1f, %ld in a row), %.0f rows/s of all ranks, MFU %.1f %%, %.1f GiB, rank 0 waited "
      "%.1f ms\n",
      s.shape.c_str(), config.layers, ranks, s.stage, s.no_transfers ? " without transfers" : "",
      s.recompute_name.c_str(), rows, totals[UpdateRow::kPackedPairs] / rows, 1e3 * mean,
      1e3 * *std::ranges::min_element(seconds), 1e3 * *std::ranges::max_element(seconds), s.updates,
      rows * ranks / mean, 100 * flops / (peak_bf16_flops(gpu_name()).value_or(989.4e12) * mean),
      static_cast<double>(own.memory().peak_allocated) / (1 << 30),
      1e3 * waited / static_cast<double>(s.updates));
}

void run(const RankUpdateSettings& s) {
  MpiSession session;
  MpiControlPlane control(session);
  const int rank = control.rank(), ranks = control.size();
  const RankDevice own(s.device, control);
  const at::Device device = own.device;
  const std::unique_ptr<TensorPlane> plane = plane_of(s, session, control, device);
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
    for (int64_t update = 0; update < s.updates; ++update) totals = updater.reinforce(mine, keys);
    own.synchronize();
    control.barrier();
    if (i >= 2) seconds.push_back(watch.seconds() / static_cast<double>(s.updates));
    account = tensors.take();
  }
  if (rank == 0) print_updates(s, ranks, totals, seconds, account, own);
  // One rank's plane moves nothing.
  if (ranks > 1 && !s.no_transfers) print_transfers(account, s.updates, *plane, own, control);
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
  app.add_option("--repeats", s.repeats, "readings of the clock");
  app.add_option("--updates", s.updates,
                 "in a row between two readings: what an update leaves under way goes on beside the next")
      ->check(CLI::PositiveNumber);
  app.add_flag("--no-transfers", s.no_transfers,
               "move nothing between ranks, whose policies part: a control for what transfers cost");
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
