#include "trainer/update/policy_updater.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/error.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/rng.h"

namespace bicrl {
namespace {

// Indices of this rank's responses for each update of one epoch. All ranks get the same number of updates.
std::vector<std::vector<size_t>> deal(size_t responses, int64_t updates, uint64_t key) {
  std::vector<size_t> order(responses);
  std::iota(order.begin(), order.end(), 0);
  // One update takes everything: the order is then left alone, so that a group's rows stay together anyway.
  if (updates > 1) RandomStream(key).shuffle(order);
  std::vector<std::vector<size_t>> parts;
  for (int64_t i = 0; i < updates; ++i) {
    const auto from = order.begin() + static_cast<int64_t>(responses) * i / updates;
    const auto to = order.begin() + static_cast<int64_t>(responses) * (i + 1) / updates;
    parts.emplace_back(from, to);
  }
  return parts;
}

}  // namespace

UpdaterSettings UpdaterSettings::from_config(const ConfigSection& section, double temperature,
                                             int64_t total_updates, uint64_t seed) {
  UpdaterSettings s;
  s.objective = ObjectiveSettings::from_config(section, temperature);
  s.learning_rate = LearningRateSchedule::from_config(section, total_updates);
  s.max_grad_norm = section.real("max_grad_norm", s.max_grad_norm, 0);
  s.tokens_per_pack = section.integer("tokens_per_pack", s.tokens_per_pack, 1);
  s.responses_per_update = section.integer("responses_per_update", s.responses_per_update, 0);
  s.epochs = section.integer("epochs", s.epochs, 1);
  s.optimizer = AdamWSettings::from_config(section.section("optimizer"));
  s.sft = SftSettings::from_config(section.section("sft"));
  s.seed = seed;
  return s;
}

// Sums over the batches, updates and (after summarise) ranks of one call.
struct PolicyUpdater::Totals {
  double tokens = 0, rows = 0, loss = 0, policy = 0, kl = 0, clipped = 0, entropy = 0;
  double gap_tokens = 0, gap = 0, gap_max = 0;
  int64_t updates = 0, skipped = 0;
  double grad_norm = 0, learning_rate = 0;
};

PolicyUpdater::PolicyUpdater(Transformer& policy, at::Tensor allowed, UpdaterSettings settings,
                             Communicator& communicator)
    : policy_(policy),
      allowed_(std::move(allowed)),
      settings_(std::move(settings)),
      communicator_(communicator),
      parameters_(policy),
      optimizer_(parameters_, settings_.optimizer),
      gradient_(parameters_.zeros()) {}

void PolicyUpdater::begin_phase(UpdaterSettings settings) {
  settings_ = std::move(settings);
  optimizer_.set(settings_.optimizer);
  updates_ = 0;
}

UpdateStatistics PolicyUpdater::reinforce(const std::vector<Experience>& experiences) {
  std::vector<LiveSequence> sequences;
  for (const auto& e : experiences) {
    auto sequence = trace_sequence(e, policy_.config(), settings_.objective.shrink);
    if (sequence.scored_tokens() > 0) sequences.push_back(std::move(sequence));
  }
  if (settings_.objective.shrink > 1) recompute_old_log_probs(sequences);

  std::vector<double> responses{static_cast<double>(sequences.size())};
  communicator_.all_reduce(responses, Reduction::kSum);
  Totals totals;
  ++calls_;
  const auto per_update = settings_.responses_per_update == 0
                              ? responses[0]
                              : static_cast<double>(settings_.responses_per_update);
  const auto updates = responses[0] == 0 ? 0 : static_cast<int64_t>(std::ceil(responses[0] / per_update));
  for (int64_t epoch = 0; epoch < settings_.epochs; ++epoch) {
    const uint64_t key = mix_key({settings_.seed, static_cast<uint64_t>(calls_), static_cast<uint64_t>(epoch),
                                  static_cast<uint64_t>(communicator_.rank())});
    for (const auto& part : deal(sequences.size(), updates, key)) {
      std::vector<LiveSequence> chosen;
      for (size_t i : part) chosen.push_back(sequences[i]);
      accumulate_trace(chosen, totals);
      apply_gradient(totals);
    }
  }
  return summarise(totals);
}

// Sequences lose `shrink` steps at a time, a context that the sampler never had: the behaviour policy's
// log-probabilities under it are those of the present parameters, before the first update.
void PolicyUpdater::recompute_old_log_probs(std::vector<LiveSequence>& sequences) const {
  const ScoredPass pass(policy_, allowed_, settings_.objective.temperature);
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
    for (int64_t i = 0; i < batch.scored(); ++i) tokens[next++]->old_log_prob = values[i];
  }
  BICRL_CHECK(next == tokens.size());
}

void PolicyUpdater::accumulate_trace(const std::vector<LiveSequence>& sequences, Totals& totals) {
  std::vector<int64_t> scored;
  for (const auto& s : sequences) scored.push_back(s.scored_tokens());
  const auto scales = sequence_scales(scored, settings_.objective, communicator_);
  const ScoredPass pass(policy_, allowed_, settings_.objective.temperature);
  const bool parameters_unchanged = totals.updates == 0;
  const GradientScope scope(parameters_);
  for (const auto& batch :
       pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device())) {
    pass.backward(batch, [&](const ScoredChunk& chunk) {
      const auto old = chunk.part(batch.old_log_probs);
      const auto terms = trace_terms(chunk.log_probs, old, chunk.part(batch.advantages), settings_.objective);
      const auto loss =
          (chunk.part(batch.weights) * (terms.policy + settings_.objective.kl_weight * terms.kl)).sum();
      const auto gap = (chunk.log_probs.detach() - old).abs();
      totals.loss += loss.item<double>();
      totals.policy += terms.policy.detach().sum().item<double>();
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
    parameters_.add_gradients_to(gradient_);
    totals.tokens += static_cast<double>(batch.scored());
    totals.rows += static_cast<double>(batch.rows());
  }
}

UpdateStatistics PolicyUpdater::supervise(const std::vector<SftSample>& samples) {
  std::vector<LiveSequence> sequences;
  std::vector<double> supervised{0};
  for (const auto& sample : samples) {
    sequences.push_back(sft_sequence(sample, settings_.sft, policy_.config()));
    supervised[0] += static_cast<double>(supervised_tokens(sample, settings_.sft));
  }
  communicator_.all_reduce(supervised, Reduction::kSum);
  Totals totals;
  ++calls_;
  if (supervised[0] == 0) return summarise(totals);

  const std::vector<double> scales(sequences.size(), 1.0 / supervised[0]);
  const ScoredPass pass(policy_, allowed_, /*temperature=*/1.0);
  {
    const GradientScope scope(parameters_);
    for (const auto& batch :
         pack(sequences, scales, policy_.config().block_size, settings_.tokens_per_pack, policy_.device())) {
      pass.backward(batch, [&](const ScoredChunk& chunk) {
        const auto loss = (chunk.part(batch.weights) * chunk.log_probs).sum().neg();
        totals.loss += loss.item<double>();
        totals.policy -= chunk.log_probs.detach().sum().item<double>();
        totals.entropy += chunk.entropy.sum().item<double>();
        return loss;
      });
      parameters_.add_gradients_to(gradient_);
      totals.tokens += static_cast<double>(batch.scored());
      totals.rows += static_cast<double>(batch.rows());
    }
  }
  apply_gradient(totals);
  return summarise(totals);
}

void PolicyUpdater::apply_gradient(Totals& totals) {
  communicator_.all_reduce_sum(gradient_);
  if (observer_) observer_(gradient_, parameters_);
  totals.grad_norm = clip_global_norm(gradient_, settings_.max_grad_norm);
  totals.learning_rate = settings_.learning_rate.at(updates_);
  ++totals.updates;
  ++updates_;
  if (std::isfinite(totals.grad_norm)) {
    optimizer_.step(gradient_, totals.learning_rate);
  } else {
    // All ranks hold the same sum, so all of them skip.
    ++totals.skipped;
    log_warning("update ", updates_, " skipped: the norm of its gradient is ", totals.grad_norm);
  }
  gradient_.zero_();
}

double PolicyUpdater::largest_weight() const {
  constexpr double kLargest = std::numeric_limits<double>::infinity();  // the order of the maximum norm
  std::vector<at::Tensor> norms;
  for (const FlatParameters::Entry& entry : parameters_.entries())
    norms.push_back(at::linalg_vector_norm(entry.parameter.detach(), kLargest).to(at::kFloat));
  return at::stack(norms).max().item<double>();
}

UpdateStatistics PolicyUpdater::summarise(const Totals& t) {
  std::vector<double> sums{t.tokens,  t.rows,    t.loss,       t.policy, t.kl,
                           t.clipped, t.entropy, t.gap_tokens, t.gap};
  // What ends a run has to be the same on all ranks, also where one of them has miscalculated. A maximum with
  // something that is no number depends on the order.
  const double largest = largest_weight();
  std::vector<double> maxima{t.gap_max,
                             std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest,
                             static_cast<double>(t.skipped)};
  communicator_.all_reduce(sums, Reduction::kSum);
  communicator_.all_reduce(maxima, Reduction::kMax);
  const auto mean = [](double sum, double count) { return count > 0 ? sum / count : 0.0; };
  UpdateStatistics s;
  s.updates = t.updates;
  s.largest_weight = maxima[1];
  s.skipped_updates = static_cast<int64_t>(maxima[2]);
  s.scored_tokens = static_cast<int64_t>(sums[0]);
  s.packed_rows = static_cast<int64_t>(sums[1]);
  s.loss = mean(sums[2], static_cast<double>(t.updates));
  s.policy_loss = mean(sums[3], sums[0]);
  s.kl = mean(sums[4], sums[0]);
  s.clip_share = mean(sums[5], sums[0]);
  s.entropy = mean(sums[6], sums[0]);
  s.logprob_gap_mean = mean(sums[8], sums[7]);
  s.logprob_gap_max = maxima[0];
  s.grad_norm = t.grad_norm;
  s.learning_rate = t.learning_rate;
  return s;
}

std::string PolicyUpdater::parameter_checksum() const {
  std::string bytes;
  for (const auto& e : parameters_.entries()) {
    const at::Tensor host = e.parameter.to(at::kCPU).contiguous();
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
  at::Tensor flat = optimizer_.values();
  communicator_.broadcast(flat, 0);
  parameters_.scatter(flat);
  optimizer_.parameters_replaced();
}

std::map<std::string, at::Tensor> PolicyUpdater::export_state() const {
  auto state = optimizer_.export_state();
  state["updates"] = at::full({1}, updates_, at::TensorOptions().dtype(at::kLong));
  state["calls"] = at::full({1}, calls_, at::TensorOptions().dtype(at::kLong));
  return state;
}

void PolicyUpdater::import_state(std::map<std::string, at::Tensor> state) {
  const auto take = [&](const std::string& name) {
    const auto found = state.find(name);
    if (found == state.end() || found->second.numel() != 1)
      throw InputError(concat("updater state lacks ", name));
    const int64_t value = found->second.item<int64_t>();
    state.erase(found);
    return value;
  };
  const int64_t updates = take("updates"), calls = take("calls");
  optimizer_.import_state(state);
  updates_ = updates;
  calls_ = calls;
}

}  // namespace bicrl
