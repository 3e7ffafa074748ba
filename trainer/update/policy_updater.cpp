#include "trainer/update/policy_updater.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "common/error.h"
#include "common/hash.h"
#include "common/rng.h"
#include "trainer/ranks/device_use.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/update/chunk_figures.h"
#include "trainer/update/packing/balance.h"

namespace bicrl {
namespace {

// What of it is trained, with all of it divided.
ParameterStore& divided(Transformer& policy, const ControlPlane& control) {
  const ShardOf shard{control.rank(), control.size()};
  policy.store().divide(shard);
  if (policy.has_adapters()) policy.trained().divide(shard);
  return policy.trained();
}

void broadcast_values(const ParameterStore& store, TensorPlane& tensors, ControlPlane& control) {
  for (int64_t g = 0; g < store.layout().group_count(); ++g)
    tensors.broadcast(store.group_values(g), 0, "values of " + store.layout().group(g).name).wait();
  compare_entered(tensors, control);
}

UpdaterSettings common_settings(const ConfigSection& section, int64_t steps, int64_t updates_per_step,
                                uint64_t seed) {
  UpdaterSettings s;
  s.learning_rate = LearningRateSchedule::from_config(section, steps * updates_per_step);
  s.max_grad_norm = section.real("max_grad_norm", s.max_grad_norm, 0);
  s.tokens_per_pack = section.integer("tokens_per_pack", s.tokens_per_pack, 1);
  s.optimizer = AdamWSettings::from_config(section.section("optimizer"));
  s.updates_per_step = updates_per_step;
  s.seed = seed;
  return s;
}

}  // namespace

UpdaterSettings UpdaterSettings::supervised(const ConfigSection& section, int64_t steps, uint64_t seed) {
  UpdaterSettings s = common_settings(section, steps, /*updates_per_step=*/1, seed);
  s.sft = SftSettings::from_config(section.section("sft"));
  return s;
}

UpdaterSettings UpdaterSettings::reinforced(const ConfigSection& section, double temperature, int64_t steps,
                                            int64_t responses_per_step, uint64_t seed, int64_t imitated,
                                            const SftSettings& sft) {
  const int64_t responses_per_update = section.integer("responses_per_update", 0, 0);
  const int64_t epochs = section.integer("epochs", 1, 1);
  UpdaterSettings s = common_settings(section, steps, /*updates_per_step=*/1, seed);
  s.sft = sft;
  s.surrogate = SurrogateSettings::from_config(section, temperature);
  s.objective = make_objective(section);
  s.responses_per_update = responses_per_update;
  s.epochs = epochs;
  s.scales_steps = section.choice("step_scale", "none", {"none", "informative"}) == "informative";
  s.expect_responses(responses_per_step, steps, imitated);
  return s;
}

void UpdaterSettings::expect_responses(int64_t responses_per_step, int64_t steps, int64_t imitated) {
  const int64_t minibatches =
      responses_per_update == 0 ? 1 : (responses_per_step + responses_per_update - 1) / responses_per_update;
  updates_per_step = epochs * minibatches + imitated;
  learning_rate.total_updates = steps * updates_per_step;
}

PolicyUpdater::PolicyUpdater(Transformer& policy, at::Tensor allowed, UpdaterSettings settings,
                             ControlPlane& control, TensorPlane& tensors, Sharding sharding,
                             Recompute recompute)
    : policy_(policy),
      allowed_(std::move(allowed)),
      settings_(std::move(settings)),
      control_(control),
      tensors_(tensors),
      sharding_(control.size() > 1 ? sharding : Sharding{}),
      recompute_(recompute),
      store_(divided(policy, control)),
      gatherer_(sharding_.parameters() ? std::make_unique<ParameterGatherer>(policy, tensors) : nullptr),
      fused_(make_fused_optimizer(store_)),
      optimizer_(store_, settings_.optimizer, sharding_.state(), fused_.get()),
      buckets_(store_, tensors, sharding_,
               [this](int64_t group) {
                 if (!trained_whole()) gatherer_->after_backward(group);
               }),
      pass_(make_scored_pass(policy, allowed_, recompute)) {}

void PolicyUpdater::begin_phase(UpdaterSettings settings, const Transformer* reference) {
  BICRL_CHECK(!is_frozen_copy(settings.surrogate.kl_reference) || reference, "no reference policy");
  settings_ = std::move(settings);
  reference_ = is_frozen_copy(settings_.surrogate.kl_reference) ? reference : nullptr;
  reference_pass_ = nullptr;
  optimizer_.set(settings_.optimizer);
  if (settings_.optimizer.moments == MomentsAtStart::kReset) optimizer_.reset();
  phase_steps_ = 0;
}

std::vector<LiveSequence> PolicyUpdater::sequences_of(const std::vector<Experience>& experiences) {
  const Objective& objective = *settings_.objective;
  std::vector<LiveSequence> sequences;
  for (const Experience& e : experiences) {
    if (e.rollout.candidates.restricted_draws() > 0 &&
        objective.recorded_candidates() == CandidateTerms::kNone)
      throw InputError(concat("the response of group ", e.group, ", sample ", e.sample,
                              " has the log-probabilities of draws that top-k or top-p restricted, and the "
                              "objective scores all ids: it was sampled for another objective"));
    sequences.push_back(objective.sequence(e, policy_.config(), {.seed = settings_.seed, .step = steps_}));
  }
  // In a context that the sampler never had, the behaviour policy's log-probabilities are those of the
  // present parameters, before the first update.
  if (!objective.has_sampler_contexts()) score(*pass_, sequences, &ScoredToken::old_log_prob);
  if (reference_) {
    if (!reference_pass_) reference_pass_ = make_scored_pass(*reference_, allowed_, Recompute::kNone);
    score(*reference_pass_, sequences, &ScoredToken::reference_log_prob);
    return sequences;
  }
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored) token.reference_log_prob = token.old_log_prob;
  return sequences;
}

StepKeys PolicyUpdater::chosen_keys(const std::vector<Experience>& experiences,
                                    const std::vector<LiveSequence>& sequences) const {
  std::vector<ExperienceKey> own = shares_of(experiences);
  for (size_t i = 0; i < own.size(); ++i) own[i].scored_tokens = sequences[i].scored_tokens();
  return all_gather_lists(control_, own);
}

UpdateTotals PolicyUpdater::reinforce(const std::vector<Experience>& generated,
                                      const StepKeys& generated_keys,
                                      const std::vector<SupervisedBatch>& imitated, double step_scale) {
  const DeviceUse use(policy_.device());
  const auto epoch_key = [&](int64_t epoch) {
    return mix_key({settings_.seed, static_cast<uint64_t>(steps_), static_cast<uint64_t>(epoch)});
  };
  // By the first epoch; the minibatches of others are of others.
  std::optional<BalancedStep> balanced;
  if (control_.size() > 1) {
    const PackSettings packs = pack_settings();
    const RowCost cost{
        .block_size = packs.block_size,
        .rows_of_pair = packs.rows_of_pair,
        .rounds_of_block = [&](int64_t steps) { return settings_.objective->rounds_of_block(steps); }};
    balanced =
        balance(generated, generated_keys, settings_.responses_per_update, epoch_key(0), cost, control_);
  }
  const std::vector<Experience>& experiences = balanced ? balanced->experiences : generated;
  const StepKeys& scored_keys = balanced ? balanced->keys : generated_keys;
  const std::vector<LiveSequence> sequences = sequences_of(experiences);
  const StepKeys shares =
      settings_.objective->scores_every_token() ? scored_keys : chosen_keys(experiences, sequences);
  UpdateTotals totals(settings_.objective->figures());
  for (int64_t epoch = 0; epoch < settings_.epochs; ++epoch)
    for (const Minibatch& minibatch :
         deal_minibatches(shares, control_.rank(), settings_.responses_per_update, settings_.surrogate,
                          epoch_key(epoch))) {
      std::vector<LiveSequence> chosen;
      for (const size_t i : minibatch.mine) chosen.push_back(sequences[i]);
      totals[UpdateRow::kStepScale] = step_scale;
      accumulate_surrogate(chosen, minibatch.scales, totals);
      apply_gradient(UpdateKind::kReinforced, totals);
    }
  for (const SupervisedBatch& batch : imitated) {
    accumulate_supervised(batch, UpdateKind::kImitated, totals);
    apply_gradient(UpdateKind::kImitated, totals);
  }
  end_step(totals);
  return totals;
}

PackSettings PolicyUpdater::pack_settings() const {
  const PolicyConfig& config = policy_.config();
  return {.block_size = config.block_size,
          .tokens_per_pack = settings_.tokens_per_pack,
          .device = policy_.device(),
          // On the CPU nothing is gained, and sums would have another order.
          .rows_of_pair = policy_.device().is_cpu() ? 0 : rows_of_pair(config)};
}

Packs PolicyUpdater::packs_of(const std::vector<LiveSequence>& sequences, const std::vector<double>& scales) {
  PackSettings settings = pack_settings();
  Packs own(sequences, scales, settings);
  if (!buckets_.passes_are_collective() || control_.size() == 1 || settings.rows_of_pair == 0) return own;
  // A pass takes as long as that of the slowest rank: all have equally many, and begin with their largest.
  for (const size_t count : all_gather_values(control_, own.count()))
    settings.lockstep_count = std::max(settings.lockstep_count, count);
  return Packs(sequences, scales, settings);
}

void PolicyUpdater::score(ScoredPass& pass, std::vector<LiveSequence>& sequences,
                          double ScoredToken::*field) const {
  const std::vector<double> scales(sequences.size(), 1.0);
  const Packs packs(sequences, scales, pack_settings());
  if (packs.count() == 0) return;
  pass.reserve(packs.largest());
  std::vector<at::Tensor> log_probs;
  for (size_t i = 0; i < packs.count(); ++i)
    log_probs.push_back(pass.log_probs(packs.make(i), settings_.surrogate.temperature));
  pass.release();
  const at::Tensor all = at::cat(log_probs).to(at::kCPU);
  const double* next = all.const_data_ptr<double>();
  for (const size_t i : grouped_order(sequences))
    for (NoisyBlock& noisy : sequences[i].noisy)
      for (ScoredToken& token : noisy.scored) token.*field = *next++;
  BICRL_CHECK(next == all.const_data_ptr<double>() + all.numel());
}

UpdateTotals PolicyUpdater::supervise(const SupervisedBatch& batch) {
  const DeviceUse use(policy_.device());
  UpdateTotals totals;
  if (batch.supervised_tokens > 0) {
    accumulate_supervised(batch, UpdateKind::kSupervised, totals);
    apply_gradient(UpdateKind::kSupervised, totals);
  }
  end_step(totals);
  return totals;
}

std::vector<at::Tensor> PolicyUpdater::whole_gradients() {
  const at::NoGradGuard guard;
  std::vector<at::Tensor> gradients;
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) {
    at::Tensor whole = store_.group_part(ParameterPart::kGradient, g);
    if (sharding_.state() == PartExtent::kShard) {
      const at::Tensor mine = store_.my_part(ParameterPart::kGradient, g);
      whole = at::empty({store_.shard().count * mine.numel()}, mine.options());
      tensors_.all_gather(mine, whole, "gradient of " + store_.layout().group(g).name).wait();
    }
    const ParameterGroup& group = store_.layout().group(g);
    for (int64_t i = group.first; i < group.first + group.entries; ++i) {
      const ParameterEntry& entry = store_.layout().entry(i);
      gradients.push_back(whole.narrow(0, entry.offset, entry.size).view(entry.shape));
    }
  }
  return gradients;
}

std::string PolicyUpdater::parameter_checksum() const {
  const std::string all = policy_.store().checksum();
  return policy_.has_adapters() ? hash_hex(all + store_.checksum()) : all;
}

void PolicyUpdater::check_replicas() {
  const auto checksums = control_.all_gather(parameter_checksum());
  std::string differing;
  for (size_t rank = 1; rank < checksums.size(); ++rank) {
    if (checksums[rank] != checksums[0]) differing += concat(" ", rank);
  }
  if (!differing.empty()) throw Error(concat("parameters differ from rank 0's on ranks", differing));
}

void PolicyUpdater::broadcast_parameters() {
  broadcast_values(policy_.store(), tensors_, control_);
  policy_.store().refresh_shards();
  if (policy_.has_adapters()) broadcast_values(store_, tensors_, control_);
  optimizer_.parameters_replaced();
}

SavedState PolicyUpdater::export_state() const {
  SavedState state = optimizer_.export_state();
  state.add_counter("phase_steps", phase_steps_);
  state.add_counter("steps", steps_);
  return state;
}

namespace {

int64_t take_counter(SavedState& state, const std::string& name) {
  const int64_t value = state.counter(name);
  state.remove(name);
  return value;
}

}  // namespace

void PolicyUpdater::import_state(SavedState state) {
  const int64_t phase_steps = take_counter(state, "phase_steps"), steps = take_counter(state, "steps");
  optimizer_.import_state(state);
  phase_steps_ = phase_steps;
  steps_ = steps;
}

void PolicyUpdater::import_moments(SavedState state) {
  take_counter(state, "phase_steps");
  take_counter(state, "steps");
  optimizer_.import_state(state);
}

}  // namespace bicrl
