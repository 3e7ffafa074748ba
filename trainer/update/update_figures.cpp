#include "trainer/update/update_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace bicrl {
namespace {

// The rows of every update.
const std::vector<UpdateFigure>& common_figures() {
  static const std::vector<UpdateFigure> rows = {
#define BICRL_UPDATE_FIGURE(name, key, sum, over, unit, digits, entry, shown, text) \
  {key,    UpdateSum::sum,     UpdateRow::over,    UpdateUnit::unit,                \
   digits, UpdateEntry::entry, UpdateShown::shown, text},
      BICRL_UPDATE_FIGURES(BICRL_UPDATE_FIGURE)
#undef BICRL_UPDATE_FIGURE
  };
  return rows;
}

const UpdateFigure& figure_at(const std::vector<UpdateFigure>& objective_figures, size_t row) {
  return row < kUpdateRows ? common_figures()[row] : objective_figures.at(row - kUpdateRows);
}

std::string written(const UpdateFigure& figure, double value) {
  char text[64];
  if (figure.unit == UpdateUnit::kShare)
    snprintf(text, sizeof text, "%.*f %%", figure.digits, 100 * value);
  else
    snprintf(text, sizeof text, "%.*f", figure.digits, value);
  return text;
}

std::string filled_in(const UpdateFigure& figure, double value) {
  std::string text = figure.text;
  if (const size_t open = text.find("{}"); open != text.npos) text.replace(open, 2, written(figure, value));
  return text;
}

bool is_shown(const UpdateStatistics& update, UpdateShown shown, double value, bool has_responses) {
  switch (shown) {
    case UpdateShown::kNever:
      return false;
    case UpdateShown::kSupervised:
      return !has_responses;
    case UpdateShown::kReinforced:
      return has_responses && update.has_reinforced();
    case UpdateShown::kImitated:
      return update[UpdateRow::kImitationUpdates] > 0;
    case UpdateShown::kUpdated:
      return !has_responses || update[UpdateRow::kUpdates] > 0;
    case UpdateShown::kIfAny:
      return value > 0;
  }
  return false;
}

bool has_figure(const UpdateStatistics& update, UpdateEntry entry, bool has_responses) {
  switch (entry) {
    case UpdateEntry::kNone:
      return false;
    case UpdateEntry::kReinforced:
      return has_responses && update.has_reinforced();
    case UpdateEntry::kStage:
      return has_responses;
    case UpdateEntry::kEvery:
      return true;
  }
  return false;
}

}  // namespace

UpdateTotals::UpdateTotals(std::vector<UpdateFigure> objective_figures)
    : objective_figures_(std::move(objective_figures)), values_(kUpdateRows + objective_figures_.size()) {}

void UpdateTotals::add(size_t row, double value) {
  double& sum = values_.at(row);
  sum = figure_at(objective_figures_, row).sum == UpdateSum::kLargest ? std::max(sum, value) : sum + value;
}

UpdateStatistics::UpdateStatistics(std::vector<UpdateFigure> objective_figures,
                                   std::span<const std::vector<double>> ranks)
    : objective_figures_(std::move(objective_figures)), values_(kUpdateRows + objective_figures_.size()) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    BICRL_CHECK(ranks[rank].size() == values_.size(), "rank ", rank, " has other figures of an update");
    for (size_t row = 0; row < values_.size(); ++row) {
      const double value = ranks[rank][row];
      const UpdateSum sum = figure_at(objective_figures_, row).sum;
      if (rank == 0)
        values_[row] = value;
      else if (sum == UpdateSum::kLargest)
        values_[row] = std::max(values_[row], value);
      else if (sum != UpdateSum::kShared)
        values_[row] += value;
    }
  }
  const std::vector<double> totals = values_;
  for (size_t row = 0; row < values_.size(); ++row) {
    const UpdateFigure& figure = figure_at(objective_figures_, row);
    if (figure.sum != UpdateSum::kMean) continue;
    const double over = totals[static_cast<size_t>(figure.over)];
    values_[row] = over > 0 ? totals[row] / over : 0;
  }
}

double UpdateStatistics::operator[](std::string_view key) const {
  for (size_t row = 0; row < values_.size(); ++row)
    if (!key.empty() && figure_at(objective_figures_, row).key == key) return values_[row];
  throw Error(concat("an update has no figure ", key));
}

std::string UpdateStatistics::text(bool has_responses) const {
  std::string line;
  const auto add = [&](size_t row) {
    const UpdateFigure& figure = figure_at(objective_figures_, row);
    if (is_shown(*this, figure.shown, values_[row], has_responses)) line += filled_in(figure, values_[row]);
  };
  add(0);
  for (size_t row = kUpdateRows; row < values_.size(); ++row) add(row);
  for (size_t row = 1; row < kUpdateRows; ++row) add(row);
  return line;
}

nlohmann::json UpdateStatistics::to_json(bool has_responses) const {
  nlohmann::json json = nlohmann::json::object();
  for (size_t row = 0; row < values_.size(); ++row) {
    const UpdateFigure& figure = figure_at(objective_figures_, row);
    if (!has_figure(*this, figure.entry, has_responses)) continue;
    if (figure.unit == UpdateUnit::kCount)
      json[figure.key] = std::llround(values_[row]);
    else
      json[figure.key] = values_[row];
  }
  return json;
}

}  // namespace bicrl
