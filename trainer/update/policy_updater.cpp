#include "trainer/update/policy_updater.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/hash.h"
#include "common/rng.h"
#include "trainer/ranks/device_use.h"
#include "trainer/update/chunk_figures.h"

namespace bicrl {
namespace {

// The maximum norm over all values, as infinity if one of them is no number.
double largest_weight(const ParameterStore& store) {
  constexpr double kMaximumNorm = std::numeric_limits<double>::infinity();
  std::vector<at::Tensor> norms;
  for (const auto& [name, parameter] : store.values())
    norms.push_back(at::linalg_vector_norm(parameter.detach(), kMaximumNorm).to(at::kFloat));
  const double largest = at::stack(norms).max().item<double>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
}

// What of it is trained, with all of it divided.
ParameterStore& divided(Transformer& policy, const ControlPlane& control) {
  const ShardOf shard{control.rank(), control.size()};
  policy.store().divide(shard);
  if (policy.has_adapters()) policy.trained().divide(shard);
  return policy.trained();
}

void broadcast_values(const ParameterStore& store, TensorPlane& tensors) {
  for (int64_t g = 0; g < store.layout().group_count(); ++g)
    tensors.broadcast(store.group_values(g), 0, "values of " + store.layout().group(g).name).wait();
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
  const int64_t minibatches =
      responses_per_update == 0 ? 1 : (responses_per_step + responses_per_update - 1) / responses_per_update;
  UpdaterSettings s = common_settings(section, steps, epochs * minibatches + imitated, seed);
  s.sft = sft;
  s.objective = ObjectiveSettings::from_config(section, temperature);
  s.responses_per_update = responses_per_update;
  s.epochs = epochs;
  return s;
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
      optimizer_(store_, settings_.optimizer, sharding_.state()),
      buckets_(store_, tensors, sharding_, [this](int64_t group) {
        if (!trained_whole()) gatherer_->after_backward(group);
      }) {}

void PolicyUpdater::begin_phase(UpdaterSettings settings, const Transformer* reference) {
  BICRL_CHECK(settings.objective.kl_reference != KlReference::kInitial || reference, "no reference policy");
  settings_ = std::move(settings);
  reference_ = settings_.objective.kl_reference == KlReference::kInitial ? reference : nullptr;
  optimizer_.set(settings_.optimizer);
  if (settings_.optimizer.moments == MomentsAtStart::kReset) optimizer_.reset();
  phase_steps_ = 0;
}

std::vector<LiveSequence> PolicyUpdater::sequences_of(const std::vector<Experience>& experiences) const {
  const ObjectiveSettings& objective = settings_.objective;
  std::vector<LiveSequence> sequences;
  for (const Experience& e : experiences)
    sequences.push_back(objective.masking == Masking::kTrace
                            ? rollout_sequence(e, policy_.config(), objective.shrink)
                            : masked_sequence(e, policy_.config(), objective.masking == Masking::kCoupled,
                                              mask_key(settings_.seed, steps_, e)));
  // Under random masks, and where sequences lose `shrink` steps at a time, there is a context that the
  // sampler never had: the behaviour policy's log-probabilities under it are those of the present parameters,
  // before the first update.
  if (objective.masking != Masking::kTrace || objective.shrink > 1)
    score(policy_, sequences, &ScoredToken::old_log_prob);
  if (reference_) {
    score(*reference_, sequences, &ScoredToken::reference_log_prob);
    return sequences;
  }
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored) token.reference_log_prob = token.old_log_prob;
  return sequences;
}

StepShares PolicyUpdater::masked_shares(const std::vector<Experience>& experiences,
                                        const std::vector<LiveSequence>& sequences) const {
  std::vector<ExperienceShare> own = shares_of(experiences);
  for (size_t i = 0; i < own.size(); ++i) own[i].scored_tokens = sequences[i].scored_tokens();
  return all_gather_lists(control_, own);
}

UpdateTotals PolicyUpdater::reinforce(const std::vector<Experience>& experiences,
                                      const StepShares& scored_shares,
                                      const std::vector<SupervisedBatch>& imitated) {
  const DeviceUse use(policy_.device());
  const std::vector<LiveSequence> sequences = sequences_of(experiences);
  const StepShares shares =
      settings_.objective.masking == Masking::kRandom ? masked_shares(experiences, sequences) : scored_shares;
  UpdateTotals totals;
  for (int64_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    const uint64_t key =
        mix_key({settings_.seed, static_cast<uint64_t>(steps_), static_cast<uint64_t>(epoch)});
    for (const Minibatch& minibatch : deal_minibatches(
             shares, control_.rank(), settings_.responses_per_update, settings_.objective, key)) {
      std::vector<LiveSequence> chosen;
      for (size_t i : minibatch.mine) chosen.push_back(sequences[i]);
      accumulate_surrogate(chosen, minibatch.scales, totals);
      apply_gradient(totals.updates, totals);
    }
  }
  for (const SupervisedBatch& batch : imitated) {
    UpdateTotals supervised;
    accumulate_supervised(batch, supervised);
    totals.imitation_loss += supervised.loss;
    totals.packed_rows += supervised.packed_rows;
    ++totals.imitation_updates;
    const double reinforced = totals.grad_norm;
    apply_gradient(totals.updates, totals);
    totals.imitation_grad_norm = std::exchange(totals.grad_norm, reinforced);
  }
  end_step(totals);
  return totals;
}

void PolicyUpdater::score(const Transformer& policy, std::vector<LiveSequence>& sequences,
                          double ScoredToken::*field) const {
  const ScoredPass pass(policy, allowed_, settings_.objective.temperature);
  std::vector<ScoredToken*> tokens;
  for (size_t i : grouped_order(sequences)) {
    for (auto& noisy : sequences[i].noisy) {
      for (auto& token : noisy.scored) tokens.push_back(&token);
    }
  }
  size_t next = 0;
  const std::vector<double> scales(sequences.size(), 1.0);
  for (const auto& batch :
       pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device())) {
    const at::Tensor log_probs = pass.log_probs(batch).to(at::kCPU);
    const double* values = log_probs.const_data_ptr<double>();
    for (int64_t i = 0; i < batch.scored(); ++i) tokens[next++]->*field = values[i];
  }
  BICRL_CHECK(next == tokens.size());
}

void PolicyUpdater::accumulate_surrogate(const std::vector<LiveSequence>& sequences,
                                         const std::vector<double>& scales, UpdateTotals& totals) {
  const ScoredPass pass(policy_, allowed_, settings_.objective.temperature);
  const bool parameters_unchanged = totals.updates == 0;
  const auto batches =
      pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device());
  ChunkFigures figures;
  run_passes(batches, [&](const PackedBatch& batch) {
    pass.backward(batch, [&](const ScoredChunk& chunk) {
      const auto old = chunk.part(batch.old_log_probs);
      const auto terms = surrogate_terms(chunk.log_probs, old, chunk.part(batch.reference_log_probs),
                                         chunk.part(batch.advantages), settings_.objective);
      const auto loss =
          (chunk.part(batch.weights) * (terms.policy + settings_.objective.kl_weight * terms.kl)).sum();
      const auto gap = (chunk.log_probs.detach() - old).abs();
      figures.add({loss, terms.policy.detach().sum(), terms.kl.detach().sum(), terms.clipped.sum(),
                   chunk.entropy.sum(), gap.sum(), gap.max()});
      return loss;
    });
    totals.scored_tokens += static_cast<double>(batch.scored());
    totals.packed_rows += static_cast<double>(batch.rows());
    if (parameters_unchanged) totals.gap_tokens += static_cast<double>(batch.scored());
  });
  for (const std::vector<double>& chunk : figures.values()) {
    totals.loss += chunk[0];
    totals.policy_loss += chunk[1];
    totals.kl += chunk[2];
    totals.clipped += chunk[3];
    totals.entropy += chunk[4];
    if (!parameters_unchanged) continue;
    totals.gap += chunk[5];
    totals.gap_max = std::max(totals.gap_max, chunk[6]);
  }
}

void PolicyUpdater::run_passes(const std::vector<PackedBatch>& batches,
                               const std::function<void(const PackedBatch&)>& backward) {
  size_t passes = batches.size();
  if (buckets_.passes_are_collective())
    for (const size_t others : all_gather_values(control_, passes)) passes = std::max(passes, others);
  if (gatherer_) gatherer_->shard();
  policy_.set_recompute(recompute_);
  const GradientBuckets::Taking taking(buckets_);
  for (size_t i = 0; i < batches.size(); ++i) {
    buckets_.begin_pass(/*last=*/i + 1 == batches.size());
    backward(batches[i]);
    buckets_.end_pass();
    if (gatherer_) gatherer_->end_pass();
  }
  for (size_t i = batches.size(); i < passes; ++i) run_empty_pass();
  buckets_.finish();
}

// In the order of a pass with data, as ranks start their transfers in the same order.
void PolicyUpdater::run_empty_pass() {
  const ParameterLayout& read = policy_.store().layout();
  const int64_t last = read.final_group();
  buckets_.begin_pass(/*last=*/false);
  for (int64_t g = 0; gatherer_ && g <= last; ++g) {
    gatherer_->before_forward(g);
    gatherer_->after_forward(g);
  }
  for (int64_t g = store_.layout().final_group(); g >= 0; --g) {
    const int64_t reads = policy_.has_adapters() ? read.layer_group(g) : g;
    if (gatherer_ && reads > 0 && reads < last) gatherer_->before_backward(reads);
    buckets_.skip_group(g);
  }
  buckets_.end_pass();
  if (gatherer_) gatherer_->end_pass();
}

UpdateTotals PolicyUpdater::supervise(const SupervisedBatch& batch) {
  const DeviceUse use(policy_.device());
  UpdateTotals totals;
  if (batch.supervised_tokens > 0) {
    accumulate_supervised(batch, totals);
    apply_gradient(0, totals);
  }
  end_step(totals);
  return totals;
}

void PolicyUpdater::accumulate_supervised(const SupervisedBatch& supervised, UpdateTotals& totals) {
  std::vector<LiveSequence> sequences;
  for (const SftSample& sample : supervised.mine)
    sequences.push_back(sft_sequence(sample, settings_.sft, policy_.config()));
  const std::vector<double> scales(sequences.size(), 1.0 / static_cast<double>(supervised.supervised_tokens));
  const ScoredPass pass(policy_, allowed_, /*temperature=*/1.0);
  const auto batches =
      pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device());
  ChunkFigures figures;
  run_passes(batches, [&](const PackedBatch& batch) {
    pass.backward(batch, [&](const ScoredChunk& chunk) {
      const auto loss = (chunk.part(batch.weights) * chunk.log_probs).sum().neg();
      figures.add({loss, chunk.log_probs.detach().sum(), chunk.entropy.sum()});
      return loss;
    });
    totals.scored_tokens += static_cast<double>(batch.scored());
    totals.packed_rows += static_cast<double>(batch.rows());
  });
  for (const std::vector<double>& chunk : figures.values()) {
    totals.loss += chunk[0];
    totals.policy_loss -= chunk[1];
    totals.entropy += chunk[2];
  }
}

void PolicyUpdater::apply_gradient(int64_t index, UpdateTotals& totals) {
  if (observer_) observer_(whole_gradients());
  totals.grad_norm = clip_global_norm(store_, settings_.max_grad_norm, sharding_.state(), control_);
  // By the place that the update has if every step needs all of its updates, so that a decay ends with the
  // phase.
  totals.learning_rate = settings_.learning_rate.at(phase_steps_ * settings_.updates_per_step + index);
  ++totals.updates;
  if (std::isfinite(totals.grad_norm)) {
    std::vector<Transfer> gathers;
    optimizer_.step(totals.learning_rate, [&](int64_t group) {
      // A group's new values travel while the next ones are made; sharded ones when they are needed.
      if (sharding_.state() == PartExtent::kShard && trained_whole())
        gathers.push_back(tensors_.all_gather(store_.my_values(group), store_.group_values(group),
                                              "values of " + store_.layout().group(group).name));
    });
    for (Transfer& gather : gathers) gather.wait();
  } else {
    // All ranks know the same norm, so all of them skip.
    ++totals.skipped_updates;
  }
  buckets_.zero();
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

void PolicyUpdater::end_step(UpdateTotals& totals) {
  if (gatherer_) gatherer_->gather_all();
  totals.largest_weight = largest_weight(store_);
  ++phase_steps_;
  ++steps_;
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
  broadcast_values(policy_.store(), tensors_);
  policy_.store().refresh_shards();
  if (policy_.has_adapters()) broadcast_values(store_, tensors_);
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
