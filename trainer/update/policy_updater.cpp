#include "trainer/update/policy_updater.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "common/hash.h"
#include "common/rng.h"

namespace bicrl {
namespace {

// The maximum norm over all parameters, as infinity if one of them is no number.
double largest_weight(const ParameterStore& store) {
  constexpr double kMaximumNorm = std::numeric_limits<double>::infinity();
  std::vector<at::Tensor> norms;
  for (const auto& [name, parameter] : store.values())
    norms.push_back(at::linalg_vector_norm(parameter.detach(), kMaximumNorm).to(at::kFloat));
  const double largest = at::stack(norms).max().item<double>();
  return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest;
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
                                            int64_t responses_per_step, uint64_t seed) {
  const int64_t responses_per_update = section.integer("responses_per_update", 0, 0);
  const int64_t epochs = section.integer("epochs", 1, 1);
  const int64_t minibatches =
      responses_per_update == 0 ? 1 : (responses_per_step + responses_per_update - 1) / responses_per_update;
  UpdaterSettings s = common_settings(section, steps, epochs * minibatches, seed);
  s.objective = ObjectiveSettings::from_config(section, temperature);
  s.responses_per_update = responses_per_update;
  s.epochs = epochs;
  return s;
}

PolicyUpdater::PolicyUpdater(Transformer& policy, at::Tensor allowed, UpdaterSettings settings,
                             Communicator& communicator)
    : policy_(policy),
      allowed_(std::move(allowed)),
      settings_(std::move(settings)),
      communicator_(communicator),
      store_(policy.store()),
      optimizer_(store_, settings_.optimizer) {
  store_.allocate(ParameterPart::kGradient, PartExtent::kWhole);
}

PolicyUpdater::~PolicyUpdater() { store_.free(ParameterPart::kGradient); }

void PolicyUpdater::begin_phase(UpdaterSettings settings, const Transformer* reference) {
  BICRL_CHECK(settings.objective.kl_reference != KlReference::kInitial || reference, "no reference policy");
  settings_ = std::move(settings);
  reference_ = settings_.objective.kl_reference == KlReference::kInitial ? reference : nullptr;
  optimizer_.set(settings_.optimizer);
  if (settings_.optimizer.moments == MomentsAtStart::kReset) optimizer_.reset();
  phase_steps_ = 0;
}

std::vector<LiveSequence> PolicyUpdater::sequences_of(const std::vector<Experience>& experiences) const {
  std::vector<LiveSequence> sequences;
  for (const Experience& e : experiences)
    sequences.push_back(rollout_sequence(e, policy_.config(), settings_.objective.shrink));
  // Sequences lose `shrink` steps at a time, a context that the sampler never had: the behaviour policy's
  // log-probabilities under it are those of the present parameters, before the first update.
  if (settings_.objective.shrink > 1) score(policy_, sequences, &ScoredToken::old_log_prob);
  if (reference_) {
    score(*reference_, sequences, &ScoredToken::reference_log_prob);
    return sequences;
  }
  for (LiveSequence& sequence : sequences)
    for (NoisyBlock& noisy : sequence.noisy)
      for (ScoredToken& token : noisy.scored) token.reference_log_prob = token.old_log_prob;
  return sequences;
}

UpdateTotals PolicyUpdater::reinforce(const std::vector<Experience>& experiences, const StepShares& shares) {
  const std::vector<LiveSequence> sequences = sequences_of(experiences);
  UpdateTotals totals;
  for (int64_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    const uint64_t key =
        mix_key({settings_.seed, static_cast<uint64_t>(steps_), static_cast<uint64_t>(epoch)});
    for (const Minibatch& minibatch : deal_minibatches(
             shares, communicator_.rank(), settings_.responses_per_update, settings_.objective, key)) {
      std::vector<LiveSequence> chosen;
      for (size_t i : minibatch.mine) chosen.push_back(sequences[i]);
      accumulate_surrogate(chosen, minibatch.scales, totals);
      apply_gradient(totals.updates, totals);
    }
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
  const GradientScope scope(store_);
  for (const auto& batch :
       pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device())) {
    pass.backward(batch, [&](const ScoredChunk& chunk) {
      const auto old = chunk.part(batch.old_log_probs);
      const auto terms = surrogate_terms(chunk.log_probs, old, chunk.part(batch.reference_log_probs),
                                         chunk.part(batch.advantages), settings_.objective);
      const auto loss =
          (chunk.part(batch.weights) * (terms.policy + settings_.objective.kl_weight * terms.kl)).sum();
      const auto gap = (chunk.log_probs.detach() - old).abs();
      totals.loss += loss.item<double>();
      totals.policy_loss += terms.policy.detach().sum().item<double>();
      totals.kl += terms.kl.detach().sum().item<double>();
      totals.clipped += terms.clipped.sum().item<double>();
      totals.entropy += chunk.entropy.sum().item<double>();
      if (parameters_unchanged) {
        totals.gap_tokens += static_cast<double>(gap.numel());
        totals.gap += gap.sum().item<double>();
        totals.gap_max = std::max(totals.gap_max, gap.max().item<double>());
      }
      return loss;
    });
    take_gradients(store_);
    totals.scored_tokens += static_cast<double>(batch.scored());
    totals.packed_rows += static_cast<double>(batch.rows());
  }
}

UpdateTotals PolicyUpdater::supervise(const std::vector<SftSample>& samples, int64_t supervised_tokens) {
  UpdateTotals totals;
  if (supervised_tokens > 0) {
    std::vector<LiveSequence> sequences;
    for (const auto& sample : samples)
      sequences.push_back(sft_sequence(sample, settings_.sft, policy_.config()));
    const std::vector<double> scales(sequences.size(), 1.0 / static_cast<double>(supervised_tokens));
    const ScoredPass pass(policy_, allowed_, /*temperature=*/1.0);
    {
      const GradientScope scope(store_);
      for (const auto& batch : pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack,
                                    policy_.device())) {
        pass.backward(batch, [&](const ScoredChunk& chunk) {
          const auto loss = (chunk.part(batch.weights) * chunk.log_probs).sum().neg();
          totals.loss += loss.item<double>();
          totals.policy_loss -= chunk.log_probs.detach().sum().item<double>();
          totals.entropy += chunk.entropy.sum().item<double>();
          return loss;
        });
        take_gradients(store_);
        totals.scored_tokens += static_cast<double>(batch.scored());
        totals.packed_rows += static_cast<double>(batch.rows());
      }
    }
    apply_gradient(0, totals);
  }
  end_step(totals);
  return totals;
}

void PolicyUpdater::apply_gradient(int64_t index, UpdateTotals& totals) {
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) {
    at::Tensor gradient = store_.group_part(ParameterPart::kGradient, g);
    communicator_.all_reduce_sum(gradient);
  }
  if (observer_) observer_(store_);
  totals.grad_norm = clip_global_norm(store_, settings_.max_grad_norm);
  // By the place that the update has if every step needs all of its updates, so that a decay ends with the
  // phase.
  totals.learning_rate = settings_.learning_rate.at(phase_steps_ * settings_.updates_per_step + index);
  ++totals.updates;
  if (std::isfinite(totals.grad_norm)) {
    optimizer_.step(totals.learning_rate);
  } else {
    // All ranks hold the same sum, so all of them skip.
    ++totals.skipped_updates;
  }
  zero_gradients(store_);
}

void PolicyUpdater::end_step(UpdateTotals& totals) {
  totals.largest_weight = largest_weight(store_);
  ++phase_steps_;
  ++steps_;
}

std::string PolicyUpdater::parameter_checksum() const {
  std::string bytes;
  for (const auto& [name, parameter] : store_.values()) {
    const at::Tensor host = parameter.to(at::kCPU).contiguous();
    bytes += hash_hex(std::string_view(static_cast<const char*>(host.const_data_ptr()), host.nbytes()));
  }
  return hash_hex(bytes);
}

void PolicyUpdater::check_replicas() {
  const auto checksums = communicator_.all_gather(parameter_checksum());
  std::string differing;
  for (size_t rank = 1; rank < checksums.size(); ++rank) {
    if (checksums[rank] != checksums[0]) differing += concat(" ", rank);
  }
  if (!differing.empty()) throw Error(concat("parameters differ from rank 0's on ranks", differing));
}

void PolicyUpdater::broadcast_parameters() {
  for (int64_t g = 0; g < store_.layout().group_count(); ++g) {
    at::Tensor values = store_.group_values(g);
    communicator_.broadcast(values, 0);
  }
  optimizer_.parameters_replaced();
}

std::map<std::string, at::Tensor> PolicyUpdater::export_state() const {
  auto state = optimizer_.export_state();
  state["phase_steps"] = at::full({1}, phase_steps_, at::TensorOptions().dtype(at::kLong));
  state["steps"] = at::full({1}, steps_, at::TensorOptions().dtype(at::kLong));
  return state;
}

namespace {

int64_t take_counter(std::map<std::string, at::Tensor>& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end() || found->second.numel() != 1)
    throw InputError(concat("updater state lacks ", name));
  const int64_t value = found->second.item<int64_t>();
  state.erase(found);
  return value;
}

}  // namespace

void PolicyUpdater::import_state(std::map<std::string, at::Tensor> state) {
  const int64_t phase_steps = take_counter(state, "phase_steps"), steps = take_counter(state, "steps");
  optimizer_.import_state(state);
  phase_steps_ = phase_steps;
  steps_ = steps;
}

void PolicyUpdater::import_moments(std::map<std::string, at::Tensor> state) {
  take_counter(state, "phase_steps");
  take_counter(state, "steps");
  optimizer_.import_state(state);
}

}  // namespace bicrl
