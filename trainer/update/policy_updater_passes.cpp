// The passes of an update and the step that follows them. On a GPU nothing here waits for the device: figures
// and norms are looked at when the step ends, or when the next update has been queued.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/log.h"
#include "trainer/ranks/entered_operations.h"
#include "trainer/update/memory/memory_budget.h"
#include "trainer/update/policy_updater.h"

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

// Bytes of a GPU that a pass may take: what nobody has, and what torch's allocator has and does not use.
int64_t free_bytes(at::Device device) {
  auto* const allocator = c10::getDeviceAllocator(device.type());
  const auto stats = allocator->getDeviceStats(device.index());
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const int64_t unused = stats.reserved_bytes[kAll].current - stats.allocated_bytes[kAll].current;
  return static_cast<int64_t>(allocator->getMemoryInfo(device.index()).first) + unused;
}

}  // namespace

void PolicyUpdater::accumulate_surrogate(const std::vector<LiveSequence>& sequences,
                                         const std::vector<double>& scales, UpdateTotals& totals) {
  const Objective& objective = *settings_.objective;
  const bool parameters_unchanged = totals[UpdateRow::kUpdates] == 0;
  std::vector<UpdateRow> rows = {UpdateRow::kLoss, UpdateRow::kEntropy};
  if (parameters_unchanged) rows.insert(rows.end(), {UpdateRow::kMeanGap, UpdateRow::kLargestGap});
  ChunkFigures figures(rows, totals.objective_figures().size());
  const Packs packs = packs_of(sequences, scales);
  run_passes(
      packs, settings_.surrogate.temperature,
      [&](const PackedBatch& batch, const ScoredChunk& chunk) {
        const ScoredTokens tokens{.chunk = chunk,
                                  .old_log_probs = chunk.part(batch.old_log_probs),
                                  .reference_log_probs = chunk.part(batch.reference_log_probs),
                                  .advantages = chunk.part(batch.advantages)};
        const TokenLosses terms = objective.losses(tokens, settings_.surrogate);
        const auto loss = (chunk.part(batch.weights) * terms.losses).sum();
        std::vector<at::Tensor> values = {loss, chunk.entropy.sum()};
        if (parameters_unchanged) {
          const auto gap = (terms.log_likelihoods.detach() - tokens.old_log_probs).abs();
          values.insert(values.end(), {gap.sum(), gap.max()});
        }
        values.insert(values.end(), terms.figures.begin(), terms.figures.end());
        figures.add(values);
        return loss;
      },
      totals);
  for (size_t i = 0; i < packs.count(); ++i) {
    const auto scored = static_cast<double>(packs.extent(i).scored);
    totals[UpdateRow::kTrainedTokens] += scored;
    if (parameters_unchanged) totals[UpdateRow::kGapTokens] += scored;
  }
  pending_figures_.push_back(std::move(figures));
}

void PolicyUpdater::accumulate_supervised(const SupervisedBatch& supervised, UpdateKind kind,
                                          UpdateTotals& totals) {
  std::vector<LiveSequence> sequences;
  for (const SftSample& sample : supervised.mine)
    sequences.push_back(sft_sequence(sample, settings_.sft, policy_.config()));
  const std::vector<double> scales(sequences.size(), 1.0 / static_cast<double>(supervised.supervised_tokens));
  const Packs packs = packs_of(sequences, scales);
  const bool imitates = kind == UpdateKind::kImitated;
  ChunkFigures figures(imitates ? std::vector{UpdateRow::kImitationLoss}
                                : std::vector{UpdateRow::kLoss, UpdateRow::kEntropy});
  run_passes(
      packs, /*temperature=*/1.0,
      [&](const PackedBatch& batch, const ScoredChunk& chunk) {
        const auto loss = (chunk.part(batch.weights) * chunk.log_probs).sum().neg();
        figures.add(imitates ? std::vector{loss} : std::vector{loss, chunk.entropy.sum()});
        return loss;
      },
      totals);
  for (size_t i = 0; i < packs.count() && !imitates; ++i)
    totals[UpdateRow::kTrainedTokens] += static_cast<double>(packs.extent(i).scored);
  pending_figures_.push_back(std::move(figures));
}

void PolicyUpdater::require_memory(const Packs& packs) {
  if (policy_.device().is_cpu() || fitted_.contain(packs)) return;
  const int64_t there_is = free_bytes(policy_.device());
  MemoryBudget budget;
  budget.held = training_memory(policy_.config(), policy_.dtype(), sharding_, control_.size(), policy_.lora(),
                                policy_.device().type());
  // With those before, or at least alone.
  for (FittedPacks fitting : {fitted_, FittedPacks()}) {
    fitting.extend(packs);
    const PassShape shape = fitting.shape();
    budget.pack_rows = shape.rows;
    budget.pass = pass_memory(policy_.config(), shape,
                              {policy_.dtype(), policy_.device().type(), recompute_, policy_.lora()});
    if (budget.pass.peak_bytes() <= there_is) {
      fitted_ = std::move(fitting);
      return;
    }
  }
  throw InputError(budget.pass_problem(there_is));
}

void PolicyUpdater::run_passes(const Packs& packs, double temperature,
                               const std::function<at::Tensor(const PackedBatch&, const ScoredChunk&)>& loss,
                               UpdateTotals& totals) {
  size_t passes = packs.count();
  if (buckets_.passes_are_collective())
    for (const size_t others : all_gather_values(control_, passes)) passes = std::max(passes, others);
  if (gatherer_) gatherer_->shard();
  policy_.set_recompute(recompute_);
  std::optional<GradientBuckets::Taking> taking;
  if (pass_->walks_graph()) taking.emplace(buckets_);
  if (packs.count() > 0) {
    require_memory(packs);
    pass_->reserve(packs.largest());
  }
  for (size_t i = 0; i < packs.count(); ++i) {
    buckets_.begin_pass(/*last=*/i + 1 == packs.count());
    const PackedBatch batch = packs.make(i);
    pass_->backward(
        batch, temperature, [&](const ScoredChunk& chunk) { return loss(batch, chunk); }, buckets_);
    buckets_.end_pass();
    if (gatherer_) gatherer_->end_pass();
    totals[UpdateRow::kPackedRows] += static_cast<double>(packs.extent(i).rows);
    totals[UpdateRow::kScoredRows] += static_cast<double>(packs.extent(i).scored);
    totals[UpdateRow::kPackedPairs] += static_cast<double>(packs.extent(i).pairs);
  }
  pass_->release();
  for (size_t i = packs.count(); i < passes; ++i) run_empty_pass();
  buckets_.finish();
  // Sums of buffers that do not belong together would be stepped by.
  compare_entered(tensors_, control_);
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

void PolicyUpdater::apply_gradient(UpdateKind kind, UpdateTotals& totals) {
  if (observer_) observer_(whole_gradients());
  // By the place that the update has if every step needs all of its updates, so that a decay ends with the
  // phase.
  const auto updates = static_cast<int64_t>(totals[UpdateRow::kUpdates]);
  const double learning_rate =
      settings_.learning_rate.at(phase_steps_ * settings_.updates_per_step + updates) *
      (kind == UpdateKind::kReinforced ? totals[UpdateRow::kStepScale] : 1);
  totals[UpdateRow::kLearningRate] = learning_rate;
  ++totals[UpdateRow::kUpdates];
  ++totals[kind == UpdateKind::kImitated ? UpdateRow::kImitationUpdates : UpdateRow::kLossUpdates];
  settle_outcome(totals);  // of the update before, which says how many steps there were
  bool steps = true;
  if (fused_) {
    fused_->measure(settings_.max_grad_norm, sharding_.state(), control_);
    pending_outcome_.emplace(PendingOutcome{kind, pass_->take_fault_report()});
  } else {
    const double norm = clip_global_norm(store_, settings_.max_grad_norm, sharding_.state(), control_);
    note_norm(norm, kind, totals);
    const auto fault_report = pass_->take_fault_report();
    steps = std::isfinite(norm);
    if (!steps) skip_update(norm, fault_report, totals);
  }
  if (steps) {
    std::vector<Transfer> gathers;
    optimizer_.step(learning_rate, [&](int64_t group) {
      // A group's new values travel while the next ones are made; sharded ones when they are needed.
      if (sharding_.state() == PartExtent::kShard && trained_whole())
        gathers.push_back(tensors_.all_gather(store_.my_values(group), store_.group_values(group),
                                              "values of " + store_.layout().group(group).name));
    });
    for (Transfer& gather : gathers) gather.wait();
  }
  if (fused_) fused_->finish();
  // What was stepped by kernels is zero already.
  const bool is_zeroed = fused_ && sharding_.state() == sharding_.gradients();
  if (!is_zeroed) buckets_.zero();
}

void PolicyUpdater::note_norm(double norm, UpdateKind kind, UpdateTotals& totals) {
  totals[kind == UpdateKind::kImitated ? UpdateRow::kImitationNorm : UpdateRow::kGradNorm] = norm;
}

// All ranks know the same norm, so all of them skip.
void PolicyUpdater::skip_update(double norm, const ScoredPass::FaultReport& fault_report,
                                UpdateTotals& totals) {
  ++totals[UpdateRow::kSkippedUpdates];
  // The report of operators runs packs again, of which ranks have different numbers: with all values at hand
  // no rank waits for another one meanwhile.
  if (gatherer_ && pass_->walks_graph()) gatherer_->gather_all();
  log_warning(concat("an update was skipped: the norm of its gradient is ", norm,
                     ". Where it began, on rank ", control_.rank(), ": ", fault_report()));
}

void PolicyUpdater::settle_outcome(UpdateTotals& totals) {
  if (!pending_outcome_) return;
  const PendingOutcome pending = *std::exchange(pending_outcome_, std::nullopt);
  const FusedOptimizer::Outcome outcome = fused_->outcome();
  note_norm(outcome.norm, pending.kind, totals);
  totals[UpdateRow::kLargestWeight] = outcome.largest_weight;
  if (outcome.is_finite) return;
  optimizer_.forget_step();
  skip_update(outcome.norm, pending.fault_report, totals);
}

void PolicyUpdater::settle_figures(UpdateTotals& totals) {
  for (const ChunkFigures& figures : std::exchange(pending_figures_, {})) figures.add_to(totals);
}

void PolicyUpdater::end_step(UpdateTotals& totals) {
  const bool is_known = pending_outcome_.has_value();
  settle_outcome(totals);
  settle_figures(totals);
  if (gatherer_) gatherer_->gather_all();
  compare_entered(tensors_, control_);  // with the gathers since the last update's passes
  if (!is_known) totals[UpdateRow::kLargestWeight] = largest_weight(store_);
  ++phase_steps_;
  ++steps_;
}

}  // namespace bicrl
