// Shares of a whole among named classes, as `balance` and `split` take them. Plain values and functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/config/config.h"

namespace bicrl::curation {

struct Share {
  std::string name;
  double share = 0;  // all add up to 1
};

// A list of {name, share}, scaled to add up to 1. Rejects names that come twice and a sum of 0.
std::vector<Share> shares_from_config(const ConfigSection& section, const std::string& key);

// `total` things by largest remainder: each class gets its share, rounded so that all add up.
std::vector<int64_t> quotas(const std::vector<Share>& shares, int64_t total);

}  // namespace bicrl::curation
