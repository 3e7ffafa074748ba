#include "curation/selection/shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "common/error.h"

namespace bicrl::curation {

std::vector<Share> shares_from_config(const ConfigSection& section, const std::string& key) {
  std::vector<Share> shares;
  std::set<std::string> names;
  double sum = 0;
  for (const ConfigSection& item : section.sections(key)) {
    shares.push_back({item.required_text("name"), item.real("share", 1, 0, 1e9)});
    if (!names.insert(shares.back().name).second)
      item.reject("name", concat("'", shares.back().name, "' has a share already"));
    sum += shares.back().share;
  }
  if (!shares.empty() && sum <= 0) section.reject(key, "at least one share is above 0");
  for (Share& share : shares) share.share /= sum;
  return shares;
}

std::vector<int64_t> quotas(const std::vector<Share>& shares, int64_t total) {
  std::vector<int64_t> counts;
  std::vector<double> remainders;
  for (const Share& share : shares) {
    const double exact = share.share * static_cast<double>(total);
    counts.push_back(static_cast<int64_t>(std::floor(exact + 1e-9)));
    remainders.push_back(exact - static_cast<double>(counts.back()));
  }
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return remainders[a] > remainders[b] + 1e-9; });
  int64_t left = total - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (size_t i = 0; left > 0 && i < order.size(); ++i, --left) ++counts[order[i]];
  return counts;
}

}  // namespace bicrl::curation
