// Steps at which a run's mean reward fell most from the one before, and the outcomes that grew there. Of all
// steps, thinned nowhere. Pure functions.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/response_table.h"
#include "report/step_table.h"

namespace bicrl::report {

struct RewardFall {
  int64_t before_row = 0, row = 0;  // in StepTable, of one phase
  double before = 0, after = 0;     // mean rewards
  // How the number of failures of each class changed; without classes that did not.
  std::map<std::string, double> failures{};
};

// The largest falls first; of equal ones the earliest.
std::vector<RewardFall> largest_falls(const StepTable& steps, size_t most);

// Indices in the table of responses that are not masked, the largest advantage first; of equal ones the
// earliest.
std::vector<size_t> largest_advantages(const ResponseTable& table, size_t most);

}  // namespace bicrl::report
