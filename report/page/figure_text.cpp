#include "report/page/figure_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "common/error.h"

namespace bicrl::report {
namespace {

std::string fixed_text(double value, int digits) {
  char text[64];
  snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// Three significant digits, without exponents where those are not needed.
std::string plain(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (value < 0) return "−" + plain(size);
  char text[64];
  if (size >= 1e6 || size < 1e-3) {
    snprintf(text, sizeof text, "%.2e", value);
    return text;
  }
  const int digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
  std::string shown = fixed_text(value, digits);
  if (shown.find('.') != std::string::npos) {
    while (shown.back() == '0') shown.pop_back();
    if (shown.back() == '.') shown.pop_back();
  }
  return shown;
}

std::string with_prefix(double value, double step, const char* const* names, int count) {
  int i = 0;
  while (i + 1 < count && std::abs(value) >= step) {
    value /= step;
    ++i;
  }
  return plain(value) + names[i];
}

}  // namespace

std::string figure_text(double value, Unit unit) {
  constexpr const char* kBytes[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  constexpr const char* kCounts[] = {"", "k", "M", "G", "T"};
  switch (unit) {
    case Unit::kShare:
      return plain(std::round(1000 * value) / 10) + " %";
    case Unit::kSeconds:
      return value >= 100 || value == 0 ? plain(std::round(value)) + " s" : plain(value) + " s";
    case Unit::kMilliseconds:
      return value < 1 ? plain(1000 * value) + " µs" : plain(value) + " ms";
    case Unit::kBytes:
      return with_prefix(value, 1024, kBytes, 5);
    case Unit::kFactor:
      return plain(value) + "×";
    case Unit::kCount:
    case Unit::kPerSecond:
      return with_prefix(value, 1000, kCounts, 5) + (unit == Unit::kPerSecond ? "/s" : "");
    case Unit::kNumber:
      break;
  }
  return plain(value);
}

std::string interval_text(const Estimate& estimate, Unit unit) {
  if (!estimate.is_known) return "";
  return concat(figure_text(estimate.low, unit), " to ", figure_text(estimate.high, unit));
}

std::string judged_text(const EvaluationEntry& evaluation) {
  if (evaluation.is_best_of) return concat(evaluation.judged, evaluation.judged == 1 ? " task" : " tasks");
  return evaluation.judged == evaluation.responses ? concat(evaluation.judged)
                                                   : concat(evaluation.judged, " of ", evaluation.responses);
}

std::string readable_name(std::string key) {
  std::ranges::replace(key, '_', ' ');
  return key;
}

std::string title_of(const std::string& key) {
  std::string title = readable_name(key);
  if (!title.empty()) title[0] = static_cast<char>(toupper(static_cast<unsigned char>(title[0])));
  return title;
}

Unit unit_of(const std::string& key) {
  if (key.ends_with("_seconds")) return Unit::kSeconds;
  if (key.ends_with("_per_second")) return Unit::kPerSecond;
  if (key.ends_with("_bytes") || key.ends_with(".bytes")) return Unit::kBytes;
  if (key == "learning_rate") return Unit::kNumber;
  if (key.ends_with("_rate") || key.ends_with("_share") || key.ends_with("_mfu") || key == "fast_1" ||
      key == "fast_2")
    return Unit::kShare;
  if (key.ends_with("speedup") && !key.starts_with("reward_terms.")) return Unit::kFactor;
  if (key.ends_with("tokens") || key == "responses") return Unit::kCount;
  return Unit::kNumber;
}

}  // namespace bicrl::report
