#include "episode/figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/error.h"

namespace bicrl {
namespace {

constexpr std::string_view kModelled = "modelled";  // in a row's text

struct Row {
  std::string_view key;
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

double squared(double value) { return value * value; }

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

// Whether it says nothing without verdicts. Responses are truncated in any case.
bool needs_verdicts(const Row& row) {
  return row.over == Sum::kKnown || row.over == Sum::kRewarded || row.shown == FigureShown::kVerified ||
         row.shown == FigureShown::kTimed;
}

constexpr const Row* row_of(std::string_view key) {
  for (const Row& row : kRows)
    if (row.key == key) return &row;
  return nullptr;
}

// Of the text from an opening brace on: what the braces enclose.
constexpr std::string_view enclosed(std::string_view text) { return text.substr(1, text.find('}') - 1); }

constexpr bool names_rows(std::string_view text) {
  for (size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    const std::string_view key = enclosed(text.substr(open));
    if (!key.empty() && key != kModelled && !row_of(key)) return false;
  }
  return true;
}
static_assert(std::ranges::all_of(kRows, [](const Row& row) { return names_rows(row.text); }),
              "a row's text names a figure that there is not");

std::string filled_in(const StepSums& sums, const Row& row, bool modelled) {
  std::string line;
  std::string_view text = row.text;
  while (!text.empty()) {
    const size_t open = std::min(text.find('{'), text.size());
    line += text.substr(0, open);
    text.remove_prefix(open);
    if (text.empty()) break;
    const std::string_view key = enclosed(text);
    if (key == kModelled)
      line += modelled ? "modelled " : "";
    else
      line += written(sums, key.empty() ? row : *row_of(key));
    text.remove_prefix(key.size() + 2);
  }
  return line;
}

}  // namespace

StepSums& StepSums::operator+=(const StepSums& other) {
  for (size_t i = 0; i < kSums; ++i) values[i] += other.values[i];
  return *this;
}

#define BICRL_ADD(name, added) (*this)[Sum::name] += added;
void StepSums::count(const CountedResponse& r) { BICRL_RESPONSE_SUMS(BICRL_ADD) }
void StepSums::count(const CountedGroup& g) { BICRL_GROUP_SUMS(BICRL_ADD) }
void StepSums::count(const CountedRank& k) { BICRL_RANK_SUMS(BICRL_ADD) }
#undef BICRL_ADD

double StepFigures::operator[](Figure figure) const {
  return value_of(sums, kRows[static_cast<size_t>(figure)]);
}

std::string figures_text(const StepSums& sums, bool verified, bool modelled) {
  // A step whose update is of surplus alone has asked nothing.
  if (sums[Sum::kGroups] == 0) verified = false;
  std::string line;
  for (const Row& row : kRows)
    if (is_shown(sums, row, verified)) line += filled_in(sums, row, modelled);
  return line;
}

nlohmann::json to_json(const StepFigures& figures, bool verified) {
  nlohmann::json json = {{"reward_terms", figures.reward_terms}, {"fault_classes", figures.fault_classes}};
  for (const Row& row : kRows)
    if (row.kind == FigureKind::kCount)
      json[row.key] = std::llround(figures.sums[row.sum]);
    else if (figures.sums[Sum::kGroups] > 0 &&  // else there is nothing to take a mean of
             (verified || !needs_verdicts(row)))
      json[row.key] = value_of(figures.sums, row);
  return json;
}

}  // namespace bicrl
