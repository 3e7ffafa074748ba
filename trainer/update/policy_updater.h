// Updates of a policy from experiences (TraceRL) or supervised samples, data-parallel over ranks: each rank
// passes its own data, gradients are summed over all of them, and all ranks end with equal parameters. Refers
// to the policy and the planes, which must outlive it, and owns the optimizer. Of a policy with adapters
// these alone are trained: optimizer, gradients and state are theirs. Not thread-safe; every method that is
// not const is collective.
//
// How this folder works: minibatch.h deals a step's experiences out to updates, balance.h to ranks,
// live_layout.h and packing.h lay their sequences out for one pass of the policy (sft.h does it for
// supervised samples), scored_pass.h runs it chunk by chunk, objective/objective.h says which tokens are
// scored in which rounds and what is minimised at each, gradient_buckets.h sums gradients over passes and
// ranks, and adamw.h takes the step at the rate of learning_rate.h (by fused_optimizer.h where there are
// kernels). sharding.h says what ranks divide among them, parameter_gatherer.h lends a rank the parameters
// that others hold. update_figures.h is what an update reports, of what chunk_figures.h keeps on the device,
// training_memory.h what it needs, fitted_packs.h which packs are known to fit.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "policy/transformer.h"
#include "rollout/rollout.h"
#include "trainer/ranks/control_plane.h"
#include "trainer/ranks/tensor_plane.h"
#include "trainer/update/chunk_figures.h"
#include "trainer/update/gradient_buckets.h"
#include "trainer/update/memory/fitted_packs.h"
#include "trainer/update/objective/objective.h"
#include "trainer/update/optimizer/adamw.h"
#include "trainer/update/optimizer/fused_optimizer.h"
#include "trainer/update/optimizer/learning_rate.h"
#include "trainer/update/packing/minibatch.h"
#include "trainer/update/packing/sft.h"
#include "trainer/update/parameter_gatherer.h"
#include "trainer/update/scored_pass.h"
#include "trainer/update/update_figures.h"

namespace bicrl {

struct UpdaterSettings {
  std::shared_ptr<const Objective> objective = default_objective();
  SurrogateSettings surrogate;
  SftSettings sft;
  AdamWSettings optimizer;
  LearningRateSchedule learning_rate;
  double max_grad_norm = 1;          // 0: no limit
  int64_t tokens_per_pack = 8192;    // rows of one forward and backward
  int64_t responses_per_update = 0;  // a minibatch, over all ranks; 0: all of a step's responses
  int64_t epochs = 1;                // passes over a step's responses
  // Of a step in which every response counts and is followed by all imitation; a step may need fewer. The
  // learning rate follows these.
  int64_t updates_per_step = 1;
  uint64_t seed = 0;  // of the order in which responses are dealt to minibatches
  // The rate of a step's updates from responses is multiplied by its share of informative groups, which the
  // caller knows (episode/refill.h).
  bool scales_steps = false;

  // Of a phase of `steps` steps. Both read learning_rate, learning_rate_decay, min_learning_rate,
  // warmup_updates, max_grad_norm, tokens_per_pack and the section optimizer; supervised also the section
  // sft; reinforced also what SurrogateSettings has, objective, that one's parameters,
  // responses_per_update, epochs and step_scale. The seed is the run's.
  static UpdaterSettings supervised(const ConfigSection& section, int64_t steps, uint64_t seed);
  // `imitated` updates follow those from a step's responses, by `sft`.
  static UpdaterSettings reinforced(const ConfigSection& section, double temperature, int64_t steps,
                                    int64_t responses_per_step, uint64_t seed, int64_t imitated = 0,
                                    const SftSettings& sft = {});
  // Of a phase of `steps` steps whose updates take so many responses: the schedule follows.
  void expect_responses(int64_t responses_per_step, int64_t steps, int64_t imitated);
};

class PolicyUpdater {
 public:
  // `allowed` [vocab]: policy/distribution.h.
  PolicyUpdater(Transformer& policy, at::Tensor allowed, UpdaterSettings settings, ControlPlane& control,
                TensorPlane& tensors, Sharding sharding = {}, Recompute recompute = Recompute::kNone);
  PolicyUpdater(const PolicyUpdater&) = delete;
  PolicyUpdater& operator=(const PolicyUpdater&) = delete;

  // One step of reinforcement: the updates that `generated_keys`, of all ranks, ask for (shares_of() of the
  // experiences, by rank), each of them shared out to ranks anew (packing/balance.h), at `step_scale` times
  // the rate, then one for each batch that is imitated. No experience on any rank and no batch: no update,
  // totals of zeros. Throws Error on malformed rollouts.
  UpdateTotals reinforce(const std::vector<Experience>& generated, const StepKeys& generated_keys,
                         const std::vector<SupervisedBatch>& imitated = {}, double step_scale = 1);
  // One step of one update from all samples of all ranks (none if no token of them is supervised).
  UpdateTotals supervise(const SupervisedBatch& batch);

  // Starts another phase: new settings and schedule, counted from step 0. `reference`, which must outlive the
  // phase, is the policy that KL is measured to if the settings ask for the initial one; else null.
  void begin_phase(UpdaterSettings settings, const Transformer* reference = nullptr);

  // XXH3 of this rank's values, frozen ones as well; equal on all ranks after every call.
  std::string parameter_checksum() const;
  // Throws Error naming the ranks whose parameters differ from rank 0's.
  void check_replicas();
  // Copies rank 0's parameters to all ranks (after loading or drawing them).
  void broadcast_parameters();

  // Optimizer tensors and counters, for checkpoints. import_state throws InputError.
  // If it is divided, what all ranks export together is the state, counters on each.
  SavedState export_state() const;
  void import_state(SavedState state);
  bool state_is_divided() const { return sharding_.state() == PartExtent::kShard; }
  // The optimizer's part of another run's state: its moments, not its position.
  void import_moments(SavedState state);

  // Called at every update with the gradient over all ranks, before clipping, by parameter. Collective.
  using GradientObserver = std::function<void(const std::vector<at::Tensor>& gradients)>;
  void observe_gradients(GradientObserver observer) { observer_ = std::move(observer); }

 private:
  std::vector<LiveSequence> sequences_of(const std::vector<Experience>& experiences);
  // Of tokens that the objective has chosen, which only the rank with the response knows. Collective.
  StepKeys chosen_keys(const std::vector<Experience>& experiences,
                       const std::vector<LiveSequence>& sequences) const;
  // Puts the log-probabilities of scored tokens under the pass's policy into the field of each.
  void score(ScoredPass& pass, std::vector<LiveSequence>& sequences, double ScoredToken::*field) const;
  PackSettings pack_settings() const;
  // Of an update's passes. Refers to both. Collective.
  Packs packs_of(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales);

  // ---- policy_updater_passes.cpp
  // What an update leaves on the device until the step ends: nobody waits for it in between.
  enum class UpdateKind { kReinforced, kSupervised, kImitated };
  struct PendingOutcome {
    UpdateKind kind = UpdateKind::kReinforced;
    ScoredPass::FaultReport fault_report;
  };
  void accumulate_surrogate(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales,
                            UpdateTotals& totals);
  void accumulate_supervised(const SupervisedBatch& batch, UpdateKind kind, UpdateTotals& totals);
  // Backward passes over the packs of an update, with as many passes without data as other ranks need.
  void run_passes(const Packs& packs, double temperature,
                  const std::function<at::Tensor(const PackedBatch&, const ScoredChunk&)>& loss,
                  UpdateTotals& totals);
  void run_empty_pass();
  // Throws InputError, with the table, if the device lacks the memory for a pass of the largest.
  void require_memory(const Packs& packs);
  // The step's update number totals.updates.
  void apply_gradient(UpdateKind kind, UpdateTotals& totals);
  void settle_outcome(UpdateTotals& totals);
  void settle_figures(UpdateTotals& totals);
  void note_norm(double norm, UpdateKind kind, UpdateTotals& totals);
  void skip_update(double norm, const ScoredPass::FaultReport& fault_report, UpdateTotals& totals);
  void end_step(UpdateTotals& totals);
  // ----
  // Whether every rank has all values of what is trained while it trains.
  bool trained_whole() const { return !gatherer_ || policy_.has_adapters(); }
  std::vector<at::Tensor> whole_gradients();

  Transformer& policy_;
  at::Tensor allowed_;
  UpdaterSettings settings_;
  const Transformer* reference_ = nullptr;
  ControlPlane& control_;
  TensorPlane& tensors_;
  Sharding sharding_;
  Recompute recompute_;
  ParameterStore& store_;                        // of what is trained
  std::unique_ptr<ParameterGatherer> gatherer_;  // null unless parameters are sharded
  std::unique_ptr<FusedOptimizer> fused_;        // null where there are no kernels
  AdamW optimizer_;
  GradientBuckets buckets_;
  int64_t phase_steps_ = 0;  // done in this phase
  int64_t steps_ = 0;        // done in all phases
  GradientObserver observer_;
  std::unique_ptr<ScoredPass> pass_;
  std::unique_ptr<ScoredPass> reference_pass_;  // of reference_; made when it is needed
  FittedPacks fitted_;
  std::vector<ChunkFigures> pending_figures_;
  std::optional<PendingOutcome> pending_outcome_;  // of the last update, of a fused optimizer
};

}  // namespace bicrl
