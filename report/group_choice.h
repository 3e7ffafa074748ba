// Choice of the groups that a run's page shows whole. These are the best, the newest, some with each fault
// class, and those of the tasks whose reward moved most. Pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "report/kept_response.h"
#include "report/response_table.h"

namespace bicrl::report {

struct ChosenGroup {
  int64_t row = 0;
  int64_t group = 0;
  GroupRange range{};                  // in ResponseTable
  std::vector<std::string> reasons{};  // why it is shown
};

// At most `limit`, by step and group. Where a run has kept texts, groups of which none was kept are not
// taken, and a response without a text does not make its group the fastest one or one of a fault class.
std::vector<ChosenGroup> choose_groups(const ResponseTable& table, const StepTable& steps, size_t limit,
                                       const KeptPlaces& kept);

}  // namespace bicrl::report
