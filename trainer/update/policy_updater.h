// Updates of a policy from experiences (TraceRL) or supervised samples, data-parallel over ranks: each rank
// passes its own data, normalisers and gradients are summed over all of them, and all ranks end with equal
// parameters. Refers to policy and communicator, which must outlive it, and owns the optimizer. Not
// thread-safe; every method that is not const is collective.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/config.h"
#include "policy/transformer.h"
#include "rollout/rollout.h"
#include "trainer/ranks/communicator.h"
#include "trainer/update/adamw.h"
#include "trainer/update/flat_parameters.h"
#include "trainer/update/learning_rate.h"
#include "trainer/update/objective.h"
#include "trainer/update/scored_pass.h"
#include "trainer/update/sft.h"

namespace bicrl {

struct UpdaterSettings {
  ObjectiveSettings objective;
  SftSettings sft;
  AdamWSettings optimizer;
  LearningRateSchedule learning_rate;
  double max_grad_norm = 1;          // 0: no limit
  int64_t tokens_per_pack = 8192;    // rows of one forward and backward
  int64_t responses_per_update = 0;  // over all ranks; 0: all of a step's responses make one update
  int64_t epochs = 1;                // passes over a step's responses
  uint64_t seed = 0;                 // of the order in which responses are dealt to updates

  // Reads clip_low, clip_high, kl_weight, kl_estimator, normaliser, normaliser_tokens, shrink, learning_rate,
  // learning_rate_decay, min_learning_rate, warmup_updates, max_grad_norm, tokens_per_pack,
  // responses_per_update, epochs and the sections optimizer and sft. The seed is the run's.
  static UpdaterSettings from_config(const ConfigSection& section, double temperature, int64_t total_updates,
                                     uint64_t seed);
};

// Of one call, over all ranks. Means are over scored tokens and all updates of the call.
struct UpdateStatistics {
  int64_t updates = 0;          // gradients computed
  int64_t skipped_updates = 0;  // of these, left out because the gradient was not finite
  double largest_weight = 0;    // in magnitude, after the call; infinite where one is no number
  int64_t scored_tokens = 0;
  int64_t packed_rows = 0;  // rows the body computed
  double loss = 0;          // as minimised: with the normaliser; mean over updates
  double policy_loss = 0;   // mean per token
  double kl = 0;            // mean per token, to the behaviour policy
  double clip_share = 0;
  double entropy = 0;
  // |logp_new - logp_old| before the first parameter change: rollout and trainer would agree exactly at 0.
  double logprob_gap_mean = 0;
  double logprob_gap_max = 0;
  double grad_norm = 0;      // before clipping; of the last update
  double learning_rate = 0;  // of the last update
};

class PolicyUpdater {
 public:
  // `allowed` [vocab]: policy/distribution.h.
  PolicyUpdater(Transformer& policy, at::Tensor allowed, UpdaterSettings settings,
                Communicator& communicator);

  // No experience on any rank: no update, statistics of zeros. Throws Error on malformed rollouts.
  UpdateStatistics reinforce(const std::vector<Experience>& experiences);
  // One update from all samples of all ranks.
  UpdateStatistics supervise(const std::vector<SftSample>& samples);

  // Starts another phase: new settings and schedule, counted from update 0; the optimizer's moments stay.
  void begin_phase(UpdaterSettings settings);
  int64_t updates() const { return updates_; }  // of this phase

  // XXH3 of this rank's parameter values; equal on all ranks after every call.
  std::string parameter_checksum() const;
  // Throws Error naming the ranks whose parameters differ from rank 0's.
  void check_replicas();
  // Copies rank 0's parameters to all ranks (after loading or drawing them).
  void broadcast_parameters();

  // Optimizer tensors and counters, for checkpoints. import_state throws InputError.
  std::map<std::string, at::Tensor> export_state() const;
  void import_state(std::map<std::string, at::Tensor> state);

  // Called at every update with the gradient over all ranks, before clipping, and where each parameter lies
  // in it.
  using GradientObserver = std::function<void(const at::Tensor& gradient, const FlatParameters& parameters)>;
  void observe_gradients(GradientObserver observer) { observer_ = std::move(observer); }

 private:
  struct Totals;
  void recompute_old_log_probs(std::vector<LiveSequence>& sequences) const;
  void accumulate_trace(const std::vector<LiveSequence>& sequences, Totals& totals);
  void apply_gradient(Totals& totals);
  double largest_weight() const;  // in magnitude; not a number where one is none
  UpdateStatistics summarise(const Totals& totals);

  Transformer& policy_;
  at::Tensor allowed_;
  UpdaterSettings settings_;
  Communicator& communicator_;
  FlatParameters parameters_;
  AdamW optimizer_;
  at::Tensor gradient_;  // [parameters] sum over this update's batches
  int64_t updates_ = 0;
  int64_t calls_ = 0;
  GradientObserver observer_;
};

}  // namespace bicrl
