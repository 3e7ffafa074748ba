// Table of the figures that a step's updates report: how values of chunks, updates and ranks become a figure,
// its unit, and its display. metrics.jsonl, TensorBoard, the step line and the exchange between ranks follow
// from the rows. Those below belong to every update; an objective appends its own (objective/objective.h).
// Plain values; thread-safe.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bicrl {

enum class UpdateSum {
  kTotal,    // added up over chunks, updates and ranks
  kMean,     // the same, divided by another row; 0 if that is 0
  kLargest,  // of all of them
  kShared    // of the last update that has one; equal on all ranks
};
enum class UpdateUnit { kCount, kNumber, kShare };
// Which entries of metrics.jsonl have the figure: those of steps with an update from responses, those of
// stages, or those of warm-ups as well.
enum class UpdateEntry { kNone, kReinforced, kStage, kEvery };
// When a step line shows the figure's text: in a step without responses; with an update from responses; with
// one that imitated; with any update, or without responses; if it is above 0.
enum class UpdateShown { kNever, kSupervised, kReinforced, kImitated, kUpdated, kIfAny };

// X(name, key, sum, over, unit, digits, entry, shown, text). In a text {} is the figure. The step line has
// the rows' order, and an objective's rows behind the first one's.
#define BICRL_UPDATE_FIGURES(X)                                                                              \
  /* as minimised, with the normaliser; of updates that do not imitate */                                    \
  X(kLoss, "loss", kMean, kLossUpdates, kNumber, 3, kEvery, kSupervised, " | loss {}")                       \
  /* |logp_new - logp_old| before the first parameter change: 0 if rollout and trainer agree exactly */      \
  X(kLargestGap, "log_prob_gap", kLargest, kNothing, kNumber, 6, kStage, kReinforced, " | gap {}")           \
  X(kMeanGap, "log_prob_gap_mean", kMean, kGapTokens, kNumber, 6, kStage, kNever, "")                        \
  X(kEntropy, "entropy", kMean, kTrainedTokens, kNumber, 3, kStage, kNever, "")                              \
  X(kImitationUpdates, "imitation_updates", kShared, kNothing, kCount, 0, kStage, kNever, "")                \
  X(kImitationLoss, "imitation_loss", kMean, kImitationUpdates, kNumber, 3, kStage, kImitated,               \
    " | imitation loss {}")                                                                                  \
  /* gradient norms are those before clipping */                                                             \
  X(kImitationNorm, "imitation_grad_norm", kShared, kNothing, kNumber, 2, kStage, kImitated, " grad {}")     \
  X(kGradNorm, "grad_norm", kShared, kNothing, kNumber, 2, kEvery, kUpdated, " | grad {}")                   \
  /* left out because the gradient was not finite; the largest of all ranks, also if one has miscalculated   \
   */                                                                                                        \
  X(kSkippedUpdates, "skipped_updates", kLargest, kNothing, kCount, 0, kEvery, kIfAny, " (skipped)")         \
  X(kLearningRate, "learning_rate", kShared, kNothing, kNumber, 6, kEvery, kNever, "")                       \
  /* of updates from responses: what their rate is multiplied by */                                          \
  X(kStepScale, "step_scale", kShared, kNothing, kNumber, 3, kReinforced, kNever, "")                        \
  X(kTrainedTokens, "trained_tokens", kTotal, kNothing, kCount, 0, kEvery, kNever, "")                       \
  X(kUpdates, "updates", kShared, kNothing, kCount, 0, kEvery, kNever, "")                                   \
  X(kLossUpdates, "", kShared, kNothing, kCount, 0, kNone, kNever, "")                                       \
  X(kGapTokens, "", kTotal, kNothing, kCount, 0, kNone, kNever, "")                                          \
  /* rows that body and head computed, those of imitation as well, and pairs of a query and a key in them */ \
  X(kPackedRows, "", kTotal, kNothing, kCount, 0, kNone, kNever, "")                                         \
  X(kScoredRows, "", kTotal, kNothing, kCount, 0, kNone, kNever, "")                                         \
  X(kPackedPairs, "", kTotal, kNothing, kCount, 0, kNone, kNever, "")                                        \
  /* of what is trained, in magnitude, after the last update; infinite if one is no number */                \
  X(kLargestWeight, "", kLargest, kNothing, kNumber, 0, kNone, kNever, "")

enum class UpdateRow : size_t {
#define BICRL_UPDATE_ROW(name, ...) name,
  BICRL_UPDATE_FIGURES(BICRL_UPDATE_ROW)
#undef BICRL_UPDATE_ROW
      kNothing  // behind the last row
};
inline constexpr size_t kUpdateRows = static_cast<size_t>(UpdateRow::kNothing);

// A row. The defaults are those of an objective's figure that is a mean over scored tokens.
struct UpdateFigure {
  std::string key;  // in metrics.jsonl
  UpdateSum sum = UpdateSum::kMean;
  UpdateRow over = UpdateRow::kTrainedTokens;  // of kMean
  UpdateUnit unit = UpdateUnit::kNumber;
  int digits = 4;
  UpdateEntry entry = UpdateEntry::kStage;
  UpdateShown shown = UpdateShown::kReinforced;
  std::string text{};  // of the step line
};

// Of the updates of one rank in one step.
class UpdateTotals {
 public:
  UpdateTotals() : UpdateTotals(std::vector<UpdateFigure>()) {}
  explicit UpdateTotals(std::vector<UpdateFigure> objective_figures);

  double& operator[](UpdateRow row) { return values_[static_cast<size_t>(row)]; }
  double operator[](UpdateRow row) const { return values_[static_cast<size_t>(row)]; }
  // Adds a value to a row, or raises the row to it, as the row says. Rows from kUpdateRows on are the
  // objective's.
  void add(size_t row, double value);

  const std::vector<UpdateFigure>& objective_figures() const { return objective_figures_; }
  const std::vector<double>& values() const { return values_; }  // of all rows; what ranks exchange

 private:
  std::vector<UpdateFigure> objective_figures_;
  std::vector<double> values_;
};

// Over all ranks. Of a step without an update all figures are 0.
class UpdateStatistics {
 public:
  UpdateStatistics() : UpdateStatistics({}, {}) {}
  // `ranks`: values of each rank's totals, which have the same rows.
  UpdateStatistics(std::vector<UpdateFigure> objective_figures, std::span<const std::vector<double>> ranks);

  double operator[](UpdateRow row) const { return values_[static_cast<size_t>(row)]; }
  double& operator[](UpdateRow row) { return values_[static_cast<size_t>(row)]; }
  double operator[](std::string_view key) const;                 // of any row that has a key
  const std::vector<double>& values() const { return values_; }  // of all rows

  bool has_reinforced() const { return (*this)[UpdateRow::kLossUpdates] > 0; }
  // The rows' texts for a step line.
  std::string text(bool has_responses) const;
  // The figures of an entry of metrics.jsonl by key.
  nlohmann::json to_json(bool has_responses) const;

 private:
  std::vector<UpdateFigure> objective_figures_;
  std::vector<double> values_;
};

}  // namespace bicrl
