#include "episode/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/error.h"

namespace bicrl {
namespace {

struct Row {
  const char* key;
  FigureKind kind;
  Sum sum, over;
  FigureUnit unit;
  int digits;
  FigureShown shown;
  std::string_view text;
};

constexpr Row kRows[] = {
#define BICRL_FIGURE(name, key, kind, sum, over, unit, digits, shown, text) \
  {key, FigureKind::kind, Sum::sum, Sum::over, FigureUnit::unit, digits, FigureShown::shown, text},
    BICRL_FIGURES(BICRL_FIGURE)
#undef BICRL_FIGURE
};

double value_of(const StepSums& sums, const Row& row) {
  if (row.kind == FigureKind::kCount) return sums[row.sum];
  const double over = sums[row.over];
  if (over <= 0) return 0;
  const double mean = sums[row.sum] / over;
  switch (row.kind) {
    case FigureKind::kGeomean:
      return std::exp(mean);
    case FigureKind::kSpread:
      return std::sqrt(std::max(0.0, sums[Sum::kRewardSquares] / over - mean * mean));
    default:
      return mean;
  }
}

std::string written(const StepSums& sums, const Row& row) {
  const double value = value_of(sums, row);
  char text[64];
  switch (row.unit) {
    case FigureUnit::kShare:
      snprintf(text, sizeof text, "%.*f %%", row.digits, 100 * value);
      break;
    case FigureUnit::kFactor:
      snprintf(text, sizeof text, "%.*fx", row.digits, value);
      break;
    case FigureUnit::kNumber:
      snprintf(text, sizeof text, "%.*f", row.digits, value);
  }
  return text;
}

bool is_shown(const StepSums& sums, const Row& row, bool verified) {
  switch (row.shown) {
    case FigureShown::kNever:
      return false;
    case FigureShown::kAlways:
      return true;
    case FigureShown::kVerified:
      return verified;
    case FigureShown::kTimed:
      return sums[Sum::kTimed] > 0;
    case FigureShown::kIfAny:
      return value_of(sums, row) > 0;
  }
  return false;
}

const Row& row_of(std::string_view key) {
  const Row* row = std::ranges::find(kRows, key, [](const Row& r) { return std::string_view(r.key); });
  BICRL_CHECK(row != std::end(kRows), "no figure is called ", key);
  return *row;
}

std::string filled_in(const StepSums& sums, const Row& row, bool modelled) {
  std::string line;
  std::string_view text = row.text;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    line += text.substr(0, open);
    if (open == text.size()) break;
    const size_t close = text.find('}', open);
    const std::string_view key = text.substr(open + 1, close - open - 1);
    if (key == "modelled")
      line += modelled ? "modelled " : "";
    else
      line += written(sums, key.empty() ? row : row_of(key));
    text.remove_prefix(close + 1);
  }
  return line;
}

}  // namespace

StepSums& StepSums::operator+=(const StepSums& other) {
  for (size_t i = 0; i < kSums; ++i) values[i] += other.values[i];
  return *this;
}

double value_of(const StepSums& sums, Figure figure) {
  return value_of(sums, kRows[static_cast<size_t>(figure)]);
}

int64_t count_of(const StepSums& sums, Figure figure) {
  const Row& row = kRows[static_cast<size_t>(figure)];
  BICRL_CHECK(row.kind == FigureKind::kCount, row.key, " is no count");
  return std::llround(sums[row.sum]);
}

std::string figures_text(const StepSums& sums, bool verified, bool modelled) {
  std::string line;
  for (const Row& row : kRows)
    if (is_shown(sums, row, verified)) line += filled_in(sums, row, modelled);
  return line;
}

nlohmann::json to_json(const StepSums& sums) {
  nlohmann::json json = nlohmann::json::object();
  for (const Row& row : kRows)
    if (row.kind == FigureKind::kCount)
      json[row.key] = std::llround(sums[row.sum]);
    else
      json[row.key] = value_of(sums, row);
  return json;
}

std::vector<std::string> figure_keys() {
  std::vector<std::string> keys;
  for (const Row& row : kRows) keys.emplace_back(row.key);
  return keys;
}

}  // namespace bicrl
