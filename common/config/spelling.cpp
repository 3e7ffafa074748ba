#include "common/config/spelling.h"

#include <algorithm>

namespace bicrl {
namespace {

// Longer names are compared by their beginnings, so that a hostile document cannot make this slow.
constexpr size_t kMaxCompared = 64;
constexpr size_t kMinPrefix = 3;

bool is_prefix(const std::string& shorter, const std::string& longer) {
  return shorter.size() >= kMinPrefix && longer.rfind(shorter, 0) == 0;
}

}  // namespace

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_spelling(const std::string& written,
                                            const std::vector<std::string>& candidates) {
  const std::string cut = written.substr(0, kMaxCompared);
  std::optional<std::string> best;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(cut, candidate.substr(0, kMaxCompared));
    const size_t allowed = std::max<size_t>(1, std::max(cut.size(), candidate.size()) / 3);
    const bool near = distance <= allowed || is_prefix(cut, candidate) || is_prefix(candidate, cut);
    if (near && (!best || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace bicrl
